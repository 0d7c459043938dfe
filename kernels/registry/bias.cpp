// Entries of kernels/bias.
#include "kernels/bias.h"

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

struct Rows {
  std::size_t rows, channels;
};

std::string label(const Rows& s) {
  return "rows=" + std::to_string(s.rows) + " C=" + std::to_string(s.channels);
}

template <class T>
Case forward_case(const Rows& s) {
  Case c(label(s));
  c.flops = static_cast<double>(s.rows * s.channels);
  c.input<T>("x", uniform_values(s.rows * s.channels, -1, 1, 1));
  c.input("bias", uniform_values(s.channels, -1, 1, 2));
  c.output<T>("y", s.rows * s.channels, {0, kUnitRoundoff, "one rounding"});
  c.launch = [](cudaStream_t stream, const DeviceArrays& device) {
    bias_forward(stream, device.span<T>("x"), device.span("bias"), device.span<T>("y"));
  };
  c.reference = [s](const Arrays& in) {
    Values y = in.at("x");
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += in.at("bias")[i % s.channels];
    return Arrays{{"y", y}};
  };
  return c;
}

Arrays gradient_reference(const Rows& s, const Arrays& in) {
  Values dbias(s.channels);
  for (std::size_t i = 0; i < in.at("dy").size(); ++i) dbias[i % s.channels] += in.at("dy")[i];
  return {{"dbias", dbias}};
}

template <class T>
Case gradient_case(const Rows& s) {
  Case c(label(s));
  c.flops = static_cast<double>(s.rows * s.channels);
  c.input<T>("dy", uniform_values(s.rows * s.channels, -1, 1, 1));
  c.output("dbias", s.channels,
           {static_cast<double>(s.rows) * kUnitRoundoff, kUnitRoundoff,
            "one rounding per row of partial sums that are random walks"});
  c.workspace("workspace", bias_gradient_workspace(s.rows, s.channels));
  c.launch = [](cudaStream_t stream, const DeviceArrays& device) {
    bias_gradient(stream, device.span<T>("dy"), device.span("dbias"), device.span("workspace"));
  };
  c.reference = [s](const Arrays& in) { return gradient_reference(s, in); };
  return c;
}

GradientCheck gradient_check() {
  const Rows s{5, 3};
  GradientCheck check;
  check.inputs = {{"x", uniform_values(15, -1, 1, 1)},
                  {"bias", uniform_values(3, -1, 1, 2)},
                  {"dy", uniform_values(15, -1, 1, 3)}};
  check.loss = [s](const Arrays& in) {
    double sum = 0;
    for (std::size_t i = 0; i < in.at("x").size(); ++i)
      sum += in.at("dy")[i] * (in.at("x")[i] + in.at("bias")[i % s.channels]);
    return sum;
  };
  check.gradient = [s](const Arrays& in) {
    return Arrays{{"bias", gradient_reference(s, in)["dbias"]}};
  };
  return check;
}

Entry entry(const std::string& name, Case (*make)(const Rows&)) {
  Entry e{.name = name};
  for (const Rows& s : {Rows{1, 1}, Rows{7, 3}, Rows{64, 10}, Rows{300, 33}, Rows{1000, 128}})
    e.tested.push_back([=] { return make(s); });
  for (const Rows& s : {Rows{64, 128}, Rows{65536, 32}}) e.timed.push_back([=] { return make(s); });
  return e;
}

}  // namespace

std::vector<Entry> bias_entries() {
  std::vector<Entry> entries;
  for_activation_types([&entries]<class T>() {
    entries.push_back(entry(name_with<T>("bias_forward"), forward_case<T>));
    entries.push_back(entry(name_with<T>("bias_gradient"), gradient_case<T>));
    entries.back().gradient = gradient_check;
  });
  return entries;
}

}  // namespace annulus::registry
