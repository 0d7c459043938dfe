// idx images and labels, plain or gzip. The input's first byte says how much of the rest are
// labels.
#include "data/idx.h"

#include <algorithm>

#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  if (size == 0) return 0;
  const fuzz::Input rest(data + 1, size - 1);
  const std::size_t label_bytes = std::min<std::size_t>(data[0], rest.size());
  fuzz::allow_data_errors([&] {
    Dataset dataset;
    dataset.classes = 10;
    append_idx({fuzz::kPath, rest.subspan(label_bytes)}, {fuzz::kPath, rest.first(label_bytes)},
               dataset);
    fuzz::require_whole(dataset);
  });
  return 0;
}
