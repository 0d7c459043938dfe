// Entries of kernels/pool: max-pool with and without padding and overlap, and the global average.
#include "kernels/pool.h"

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

const Tolerance kSelection{0, 0, "selects: exact"};

std::string label(const PoolShape& s) {
  return "N=" + std::to_string(s.images) + " H=" + std::to_string(s.height) +
         " W=" + std::to_string(s.width) + " C=" + std::to_string(s.channels) +
         " window=" + std::to_string(s.window) + " stride=" + std::to_string(s.stride) +
         " padding=" + std::to_string(s.padding);
}

constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

// Where the k-th element of output i's window lies in x; kOutside in the padding.
std::size_t element(const PoolShape& s, std::size_t i, int k) {
  const std::size_t channels = s.channels, across = s.out_width(), down = s.out_height();
  const std::size_t c = i % channels, q = i / channels % across;
  const std::size_t p = i / channels / across % down, n = i / channels / across / down;
  const int row = static_cast<int>(p) * s.stride - s.padding + k / s.window;
  const int column = static_cast<int>(q) * s.stride - s.padding + k % s.window;
  if (row < 0 || row >= s.height || column < 0 || column >= s.width) return kOutside;
  return ((n * s.height + row) * s.width + column) * channels + c;
}

Arrays forward_reference(const PoolShape& s, const Arrays& in) {
  const Values& x = in.at("x");
  Values y(s.out_size()), argmax(s.out_size(), -1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (int k = 0; k < s.window * s.window; ++k) {
      const std::size_t from = element(s, i, k);
      if (from == kOutside || (argmax[i] >= 0 && x[from] <= y[i])) continue;
      y[i] = x[from];
      argmax[i] = k;
    }
  }
  return {{"y", y}, {"argmax", argmax}};
}

Arrays backward_reference(const PoolShape& s, const Arrays& in) {
  Values dx(s.in_size());
  for (std::size_t i = 0; i < in.at("dy").size(); ++i)
    dx[element(s, i, static_cast<int>(in.at("argmax")[i]))] += in.at("dy")[i];
  return {{"dx", dx}};
}

// Few values, so that windows often hold their maximum twice.
Values input_with_ties(const PoolShape& s) {
  Values x = uniform_values(s.in_size(), -4, 4, 1);
  for (double& value : x) value = static_cast<int>(value);
  return x;
}

template <class T>
Case forward_case(const PoolShape& s) {
  Case c(label(s));
  c.flops = static_cast<double>(s.out_size()) * s.window * s.window;
  c.input<T>("x", input_with_ties(s));
  c.output<T>("y", s.out_size(), kSelection);
  c.output<std::uint8_t>("argmax", s.out_size(), kSelection);
  c.launch = [s](cudaStream_t stream, const DeviceArrays& device) {
    maxpool_forward(stream, s, device.span<T>("x"), device.span<T>("y"),
                    device.span<std::uint8_t>("argmax"));
  };
  c.reference = [s](const Arrays& in) { return forward_reference(s, in); };
  return c;
}

template <class T>
Case backward_case(const PoolShape& s) {
  Case c(label(s));
  c.flops = static_cast<double>(s.out_size());
  c.input<T>("dy", uniform_values(s.out_size(), -1, 1, 2));
  c.input<std::uint8_t>("argmax", forward_reference(s, {{"x", input_with_ties(s)}}).at("argmax"));
  c.output<T>("dx", s.in_size(),
              {s.window > s.stride ? 9 * kUnitRoundoff : 0, 0, "adds at most nine terms up to 1"});
  c.launch = [s](cudaStream_t stream, const DeviceArrays& device) {
    maxpool_backward(stream, s, device.span<T>("dy"), device.span<std::uint8_t>("argmax"),
                     device.span<T>("dx"));
  };
  c.reference = [s](const Arrays& in) { return backward_reference(s, in); };
  return c;
}

double weighted_sum(const Values& weights, const Values& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += weights[i] * values[i];
  return sum;
}

GradientCheck max_gradient_check() {
  const PoolShape s{2, 5, 6, 2, 3, 2, 1};
  GradientCheck check;
  check.inputs = {{"x", uniform_values(s.in_size(), -1, 1, 1)},
                  {"dy", uniform_values(s.out_size(), -1, 1, 2)}};
  check.loss = [s](const Arrays& in) {
    return weighted_sum(in.at("dy"), forward_reference(s, in).at("y"));
  };
  check.gradient = [s](Arrays in) {
    in["argmax"] = forward_reference(s, in).at("argmax");
    return Arrays{{"x", backward_reference(s, in).at("dx")}};
  };
  return check;
}

struct AverageShape {
  int images, pixels, channels;
  std::size_t out_size() const { return std::size_t(images) * channels; }
  std::size_t in_size() const { return out_size() * pixels; }
  std::size_t output_of(std::size_t i) const {
    return i / channels / pixels * channels + i % channels;
  }
};

std::string label(const AverageShape& s) {
  return "N=" + std::to_string(s.images) + " HW=" + std::to_string(s.pixels) +
         " C=" + std::to_string(s.channels);
}

Arrays average_reference(const AverageShape& s, const Arrays& in) {
  Values y(s.out_size());
  for (std::size_t i = 0; i < s.in_size(); ++i) y[s.output_of(i)] += in.at("x")[i] / s.pixels;
  return {{"y", y}};
}

Arrays average_gradient(const AverageShape& s, const Arrays& in) {
  Values dx(s.in_size());
  for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = in.at("dy")[s.output_of(i)] / s.pixels;
  return {{"dx", dx}};
}

template <class T>
Case average_forward_case(const AverageShape& s) {
  Case c(label(s));
  c.flops = static_cast<double>(s.in_size());
  c.input<T>("x", uniform_values(s.in_size(), -1, 1, 1));
  c.output<T>("y", s.out_size(),
              {2 * kUnitRoundoff, kUnitRoundoff,
               "H W roundings of partial sums below 8, averaged over H W; the division"});
  c.launch = [s](cudaStream_t stream, const DeviceArrays& device) {
    global_average_forward(stream, s.images, s.pixels, s.channels, device.span<T>("x"),
                           device.span<T>("y"));
  };
  c.reference = [s](const Arrays& in) { return average_reference(s, in); };
  return c;
}

template <class T>
Case average_backward_case(const AverageShape& s) {
  Case c(label(s));
  c.flops = static_cast<double>(s.in_size());
  c.input<T>("dy", uniform_values(s.out_size(), -1, 1, 1));
  c.output<T>("dx", s.in_size(), {0, kUnitRoundoff, "one rounding"});
  c.launch = [s](cudaStream_t stream, const DeviceArrays& device) {
    global_average_backward(stream, s.images, s.pixels, s.channels, device.span<T>("dy"),
                            device.span<T>("dx"));
  };
  c.reference = [s](const Arrays& in) { return average_gradient(s, in); };
  return c;
}

GradientCheck average_gradient_check() {
  const AverageShape s{2, 5, 3};
  GradientCheck check;
  check.inputs = {{"x", uniform_values(s.in_size(), -1, 1, 1)},
                  {"dy", uniform_values(s.out_size(), -1, 1, 2)}};
  check.loss = [s](const Arrays& in) {
    return weighted_sum(in.at("dy"), average_reference(s, in).at("y"));
  };
  check.gradient = [s](const Arrays& in) {
    return Arrays{{"x", average_gradient(s, in).at("dx")}};
  };
  return check;
}

const PoolShape kMaxTested[] = {{1, 2, 2, 1},          {2, 5, 7, 3},          {2, 8, 8, 32},
                                {1, 7, 5, 9, 3, 2, 1}, {1, 6, 6, 5, 3, 1, 1}, {1, 9, 9, 2, 2, 3}};
const PoolShape kMaxTimed[] = {{64, 32, 32, 32}};
const AverageShape kAverageTested[] = {{1, 1, 1}, {3, 7, 5}, {2, 64, 64}};
const AverageShape kAverageTimed[] = {{64, 64, 64}};

template <class Shapes, class MoreShapes, class Make>
Entry entry(const std::string& name, const Shapes& tested, const MoreShapes& timed, Make make) {
  Entry e{.name = name};
  for (const auto& s : tested) e.tested.push_back([=] { return make(s); });
  for (const auto& s : timed) e.timed.push_back([=] { return make(s); });
  return e;
}

}  // namespace

std::vector<Entry> pool_entries() {
  std::vector<Entry> entries;
  for_activation_types([&entries]<class T>() {
    const auto add = [&entries](const std::string& name, const auto& tested, const auto& timed,
                                auto make) {
      entries.push_back(entry(name_with<T>(name), tested, timed, make));
    };
    add("maxpool_forward", kMaxTested, kMaxTimed, forward_case<T>);
    add("maxpool_backward", kMaxTested, kMaxTimed, backward_case<T>);
    entries.back().gradient = max_gradient_check;
    add("global_average_forward", kAverageTested, kAverageTimed, average_forward_case<T>);
    add("global_average_backward", kAverageTested, kAverageTimed, average_backward_case<T>);
    entries.back().gradient = average_gradient_check;
  });
  return entries;
}

}  // namespace annulus::registry
