// Runs cases on the device and compares; see registry_check.h.
#include "tests/kernels/registry_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "kernels/simt_host.h"

namespace annulus::registry {
namespace {

void append(Failures& all, const Failures& some, const std::string& prefix) {
  for (const std::string& line : some) all.push_back(prefix + line);
}

// By how much |got - want| exceeds what is allowed, as a factor; infinite for a NaN on one side.
// Rounding to a half type is monotone: what is allowed before it lies between the roundings of its
// ends.
double excess(const Array& array, double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  const Tolerance& tolerance = array.tolerance;
  double allowed = tolerance.absolute + tolerance.relative * std::fabs(want);
  if (const Format* format = array.half_type) {
    if (got >= format->round(want - allowed) && got <= format->round(want + allowed)) return 0;
    allowed = std::min(allowed, std::fabs(got - want) / 2);
  }
  const double factor = std::fabs(got - want) / allowed;
  return std::isnan(factor) ? std::numeric_limits<double>::infinity() : factor;
}

// One launch on fresh contents; the outputs by name.
Arrays run(const Case& c, DeviceArrays& device) {
  device.reset();
  const Stream stream;
  c.launch(stream.get(), device);
  stream.synchronize();
  Arrays outputs;
  for (const Array& array : c.arrays())
    if (array.is_output()) outputs[array.name] = device.download(array.name);
  return outputs;
}

Failures judge(const Entry& entry, const Case& c, const Arrays& want) {
  DeviceArrays device(c);
  const Arrays got = run(c, device);
  Failures failures;
  for (const Array& array : c.arrays()) {
    if (!array.is_output()) continue;
    append(failures, compare(array, got.at(array.name), want.at(array.name)), "");
  }
  for (const std::string& name : device.damaged())
    failures.push_back(name + " was written where the kernel must not write");
  if (failures.empty() && run(c, device) != got)
    failures.push_back("a second run on the same inputs gives other bits");
  Failures named;
  append(named, failures, entry.name + ", " + c.shape + ": ");
  return named;
}

}  // namespace

std::string test_name(const Entry& entry) {
  std::string name = entry.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

Failures compare(const Array& array, const Values& got, const Values& want) {
  if (got.size() != want.size())
    return {fmt::format("{}: the reference has {} elements, the kernel {}", array.name, want.size(),
                        got.size())};
  double worst = 1;
  std::size_t where = got.size();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double factor = excess(array, got[i], want[i]);
    if (factor <= worst) continue;
    worst = factor;
    where = i;
  }
  if (where == got.size()) return {};
  return {fmt::format("{}[{}] is {:.9g}, want {:.9g}: {:.3g} times what is allowed ({})",
                      array.name, where, got[where], want[where], worst, array.tolerance.reason)};
}

Failures check_case(const Entry& entry, const Case& c) {
  return judge(entry, c, c.reference(c.inputs()));
}

Failures check_entry(const Entry& entry) {
  Failures failures;
  for (const MakeCase& make : entry.tested) {
    const Case c = make();
    const Arrays want = c.reference(c.inputs());
    append(failures, judge(entry, c, want), "");
    simt::use_cpu_forms(false);
    append(failures, judge(entry, c, want), "emulated: ");
    simt::use_cpu_forms(true);
  }
  return failures;
}

Failures check_timed_cases(const Entry& entry) {
  Failures failures;
  for (const MakeCase& make : entry.timed) append(failures, check_case(entry, make()), "");
  return failures;
}

Failures check_gradient(const Entry& entry) {
  if (!entry.gradient) return {};
  return check_gradient(entry.name, entry.gradient());
}

// Central differences err by h^2 f'''/6 + roundoff / h: with h = 1e-5 in double about 1e-9 of the
// loss's size.
Failures check_gradient(const std::string& name, const GradientCheck& check) {
  constexpr double kStep = 1e-5, kAllowed = 1e-7;
  Failures failures;
  for (const auto& [input, gradient] : check.gradient(check.inputs)) {
    const double scale =
        *std::max_element(gradient.begin(), gradient.end(),
                          [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      Arrays above = check.inputs, below = check.inputs;
      above[input].at(i) += kStep;
      below[input].at(i) -= kStep;
      const double numeric = (check.loss(above) - check.loss(below)) / (2 * kStep);
      if (std::fabs(gradient[i] - numeric) <= kAllowed * std::max(1., std::fabs(scale))) continue;
      failures.push_back(
          fmt::format("{}: gradient of {}[{}] is {:.9g}, central differences give {:.9g}", name,
                      input, i, gradient[i], numeric));
    }
  }
  return failures;
}

}  // namespace annulus::registry
