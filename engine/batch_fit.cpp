// See batch_fit.h.
#include "engine/batch_fit.h"

#include <fmt/format.h>

#include <string>

#include "kernels/out_of_memory.h"

namespace annulus {
namespace {

bool fits(int images, const std::function<void(int)>& make) try {
  make(images);
  return true;
} catch (const OutOfDeviceMemory&) {
  return false;
}

// 0: not even one image.
int largest_that_fits(int too_many, const std::function<void(int)>& make) {
  int most = 0;
  while (too_many - most > 1) {
    const int middle = most + (too_many - most) / 2;
    (fits(middle, make) ? most : too_many) = middle;
  }
  return most;
}

}  // namespace

void make_for_batch(int images, const std::function<void(int)>& make) {
  std::string shortage;
  try {
    return make(images);
  } catch (const OutOfDeviceMemory& error) {
    shortage = error.fact();
  }
  const int most = largest_that_fits(images, make);
  throw OutOfDeviceMemory(
      shortage, most > 0 ? fmt::format("--batch-size {} does not fit, {} would", images, most)
                         : "not even --batch-size 1 would fit: use a device with more memory");
}

}  // namespace annulus
