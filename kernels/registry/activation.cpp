// Entries of kernels/activation: forward and backward of each function, and the residual add.
#include "kernels/activation.h"

#include "kernels/registry/activation_reference.h"
#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

// normal_cdf is within 2^-22 of Phi (kernels/math.h) and is multiplied by |x| < 6; the product
// rounds once more.
const Tolerance kGelu{6 * 0x1p-22, 2 * kUnitRoundoff, "6 x the error of normal_cdf"};
const Tolerance kSelection{0, 0, "selects or copies: exact"};
const Tolerance kOneRounding{0, kUnitRoundoff, "one rounding"};

std::string label(std::size_t size) { return "size=" + std::to_string(size); }
Values operands(std::size_t size, std::uint32_t stream) {
  return uniform_values(size, -6, 6, stream);
}

template <class T>
Case forward_case(Activation f, std::size_t size) {
  Case c(label(size));
  c.flops = static_cast<double>(size) * (f == Activation::gelu ? 30 : 1);
  c.input<T>("x", operands(size, 1));
  c.output<T>("y", size, f == Activation::gelu ? kGelu : kSelection);
  c.launch = [f](cudaStream_t stream, const DeviceArrays& device) {
    activation_forward(stream, f, device.span<T>("x"), device.span<T>("y"));
  };
  c.reference = [f](const Arrays& in) {
    Values y;
    for (double x : in.at("x")) y.push_back(activate(f, x));
    return Arrays{{"y", y}};
  };
  return c;
}

Arrays backward_reference(Activation f, const Arrays& in) {
  const Values &x = in.at("x"), &dy = in.at("dy");
  Values dx;
  for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(dy[i] * slope(f, x[i]));
  return {{"dx", dx}};
}

template <class T>
Case backward_case(Activation f, std::size_t size) {
  Case c(label(size));
  c.flops = static_cast<double>(size) * (f == Activation::gelu ? 33 : 1);
  c.input<T>("x", operands(size, 1));
  c.input<T>("dy", uniform_values(size, -1, 1, 2));
  c.output<T>("dx", size, f == Activation::gelu ? kGelu : kSelection);
  c.launch = [f](cudaStream_t stream, const DeviceArrays& device) {
    activation_backward(stream, f, device.span<T>("x"), device.span<T>("dy"), device.span<T>("dx"));
  };
  c.reference = [f](const Arrays& in) { return backward_reference(f, in); };
  return c;
}

GradientCheck gradient_check(Activation f) {
  GradientCheck check;
  check.inputs = {{"x", operands(40, 1)}, {"dy", uniform_values(40, -1, 1, 2)}};
  check.loss = [f](const Arrays& in) {
    double sum = 0;
    for (std::size_t i = 0; i < in.at("x").size(); ++i)
      sum += in.at("dy")[i] * activate(f, in.at("x")[i]);
    return sum;
  };
  check.gradient = [f](const Arrays& in) { return Arrays{{"x", backward_reference(f, in)["dx"]}}; };
  return check;
}

template <class T>
Case add_case(std::size_t size) {
  Case c(label(size));
  c.flops = static_cast<double>(size);
  c.input<T>("a", operands(size, 1));
  c.input<T>("b", operands(size, 2));
  c.output<T>("y", size, kOneRounding);
  c.launch = [](cudaStream_t stream, const DeviceArrays& device) {
    add(stream, device.span<T>("a"), device.span<T>("b"), device.span<T>("y"));
  };
  c.reference = [](const Arrays& in) {
    Values y = in.at("a");
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += in.at("b")[i];
    return Arrays{{"y", y}};
  };
  return c;
}

// Sizes around a vector, around a block, and larger than one piece of the CPU device.
const std::size_t kSizes[] = {1, 7, 8, 255, 257, 100003};
constexpr std::size_t kFirstLayer = 64 * 32 * 32 * 32;

Entry entry(const std::string& name, const std::function<Case(std::size_t)>& make) {
  Entry e{.name = name};
  for (std::size_t size : kSizes) e.tested.push_back([=] { return make(size); });
  e.timed.push_back([=] { return make(kFirstLayer); });
  return e;
}

}  // namespace

std::vector<Entry> activation_entries() {
  std::vector<Entry> entries;
  for_activation_types([&entries]<class T>() {
    for (Activation f : {Activation::relu, Activation::gelu}) {
      entries.push_back(entry(name_with<T>("activation_forward " + name_of(f)),
                              [f](std::size_t size) { return forward_case<T>(f, size); }));
      entries.push_back(entry(name_with<T>("activation_backward " + name_of(f)),
                              [f](std::size_t size) { return backward_case<T>(f, size); }));
      entries.back().gradient = [f] { return gradient_check(f); };
    }
    entries.push_back(entry(name_with<T>("add"), add_case<T>));
  });
  return entries;
}

}  // namespace annulus::registry
