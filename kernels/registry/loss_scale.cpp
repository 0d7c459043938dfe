// Entry of kernels/loss_scale: the gradients' share. How the factor moves is
// tests/kernels/loss_scale_test's.
#include "kernels/loss_scale.h"

#include <cmath>

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

const Tolerance kExact{0, 0, "the factor is a power of two: exact"};

enum class Gradients { finite, one_infinite };

Case make_case(std::size_t size, Gradients gradients) {
  const float factor = 1024;
  Case c("size=" + std::to_string(size) + (gradients == Gradients::finite ? "" : " one infinite"));
  c.flops = 2. * static_cast<double>(size);
  c.opaque("scale", LossScale{factor, 0});
  Values values = uniform_values(size, -1, 1, 1);
  if (gradients == Gradients::one_infinite) values[size / 2] = INFINITY;
  c.in_out("gradients", values, kExact);
  c.in_out<std::uint32_t>("overflow", {0}, kExact);
  c.launch = [](cudaStream_t stream, const DeviceArrays& device) {
    unscale_gradients(stream, device.span<LossScale>("scale"), device.span("gradients"),
                      device.span<std::uint32_t>("overflow"));
  };
  c.reference = [=](const Arrays& in) {
    Values unscaled = in.at("gradients");
    for (double& g : unscaled) g /= factor;
    return Arrays{{"gradients", unscaled},
                  {"overflow", {gradients == Gradients::finite ? 0. : 1.}}};
  };
  return c;
}

}  // namespace

std::vector<Entry> loss_scale_entries() {
  Entry entry{.name = "unscale_gradients"};
  for (std::size_t size : {1, 7, 8, 257, 50003})
    for (Gradients gradients : {Gradients::one_infinite, Gradients::finite})
      entry.tested.push_back([=] { return make_case(size, gradients); });
  entry.timed.push_back([] { return make_case(551722, Gradients::finite); });  // seed-cnn's
  return {entry};
}

}  // namespace annulus::registry
