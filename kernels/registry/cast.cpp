// Entries of kernels/cast. The reference rounds in double to the format's grid; infinities, NaN and
// every half number are tests/kernels/cast_test's.
#include "kernels/cast.h"

#include <algorithm>
#include <cmath>

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

const Tolerance kExact{0, 0, "a cast is correctly rounded: exact"};

// Numbers of every size from half's subnormals to hundreds, both signs.
Values operands(std::size_t size) {
  Values x = uniform_values(size, -1, 1, 1);
  for (std::size_t i = 0; i < size; ++i) x[i] = std::ldexp(x[i], static_cast<int>(i % 32) - 23);
  return x;
}

template <class X, class Y>
Case make_case(const Format& result, std::size_t size) {
  Case c("size=" + std::to_string(size));
  c.flops = static_cast<double>(size);
  c.input<X>("x", operands(size));
  c.output<Y>("y", size, kExact);
  c.launch = [](cudaStream_t stream, const DeviceArrays& device) {
    cast(stream, device.span<X>("x"), device.span<Y>("y"));
  };
  c.reference = [result](const Arrays& in) {
    Values y = in.at("x");
    for (double& value : y) value = result.round(value);
    return Arrays{{"y", y}};
  };
  return c;
}

template <class X, class Y>
Entry entry(const std::string& name, const Format& result) {
  Entry e{.name = name};
  for (std::size_t size : {1, 7, 257, 20011})
    e.tested.push_back([=] { return make_case<X, Y>(result, size); });
  e.timed.push_back([=] { return make_case<X, Y>(result, 64 * 32 * 32 * 32); });
  return e;
}

}  // namespace

std::vector<Entry> cast_entries() {
  return {entry<float, __nv_bfloat16>("cast float to bfloat16", kBfloat16Format),
          entry<__nv_bfloat16, float>("cast bfloat16 to float", kFloatFormat),
          entry<float, __half>("cast float to half", kHalfFormat),
          entry<__half, float>("cast half to float", kFloatFormat)};
}

}  // namespace annulus::registry
