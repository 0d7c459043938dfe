// Uploads; the first order is the one of the files.
#include "engine/resident_data.h"

#include <numeric>

namespace annulus {

ResidentData::ResidentData(const Dataset& data, const std::array<float, 4>& mean,
                           const std::array<float, 4>& std_dev)
    : image_(data.image), images_(data.images), labels_(data.labels), order_(data.size()) {
  normalisation_.mean = mean;
  for (std::size_t c = 0; c < std_dev.size(); ++c)
    normalisation_.inv_std[c] = std_dev[c] > 0 ? 1.f / std_dev[c] : 1.f;
  std::vector<std::uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0u);
  set_order(order);
}

}  // namespace annulus
