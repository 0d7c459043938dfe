// Entries of kernels/cast. The reference rounds in double to the format's grid; infinities, NaN and
// every half number are tests/kernels/cast_test's.
#include "kernels/cast.h"

#include <algorithm>
#include <cmath>

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

const Tolerance kExact{0, 0, "a cast is correctly rounded: exact"};

// A binary format: the bits of the fraction and the exponent of its smallest normal number.
struct Format {
  int fraction_bits, smallest_exponent;
};
constexpr Format kBfloat16{7, -126}, kHalf{10, -14};

// To nearest, ties to even: what nearbyint does unless told otherwise.
double round_to(const Format& format, double x) {
  if (x == 0) return x;
  const int exponent = std::max(std::ilogb(x), format.smallest_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(x, format.fraction_bits - exponent)),
                    exponent - format.fraction_bits);
}

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
    for (double& value : y) value = round_to(result, value);
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
  constexpr Format kFloat{23, -126};
  return {entry<float, __nv_bfloat16>("cast float to bfloat16", kBfloat16),
          entry<__nv_bfloat16, float>("cast bfloat16 to float", kFloat),
          entry<float, __half>("cast float to half", kHalf),
          entry<__half, float>("cast half to float", kFloat)};
}

}  // namespace annulus::registry
