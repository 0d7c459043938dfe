// Entries of kernels/optimizer: the updates in double, as PyTorch writes them.
#include "kernels/optimizer.h"

#include <cmath>

#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

// All numbers of the cases below are less than 4 in size.
const Tolerance kMoment{8 * kUnitRoundoff, 0, "four roundings of terms less than 2"};
const Tolerance kSgdParameter{12 * kUnitRoundoff, 0, "six roundings of terms less than 2"};

StepState state_at(std::uint32_t step, float learning_rate) {
  return {.seed = 1, .step = step, .epoch = 0, .first_sample = 0, .learning_rate = learning_rate};
}

// Half of the elements decay, like weights; half do not, like biases.
Values decay_values(std::size_t size) {
  Values decay(size);
  for (std::size_t i = 0; i < size; i += 2) decay[i] = 5e-4;
  return decay;
}

void add_slices(Case& c, std::size_t size) {
  c.input("g", uniform_values(size, -1, 1, 1));
  c.input("decay", decay_values(size));
}

Case sgd_case(bool nesterov, std::size_t size) {
  const StepState state = state_at(3, 0.5f);
  const float momentum = 0.9f;
  Case c("size=" + std::to_string(size));
  c.flops = (nesterov ? 8.0 : 6.0) * static_cast<double>(size);
  c.opaque("state", state);
  c.opaque("diverged", std::uint32_t{0});
  add_slices(c, size);
  c.in_out("p", uniform_values(size, -1, 1, 2), kSgdParameter);
  c.in_out("v", uniform_values(size, -1, 1, 3), kMoment);
  c.launch = [=](cudaStream_t stream, const DeviceArrays& device) {
    sgd_update(stream, device.span<StepState>("state"), device.span<std::uint32_t>("diverged"),
               momentum, nesterov, device.span("p"), device.span("v"), device.span("g"),
               device.span("decay"));
  };
  c.reference = [=](const Arrays& in) {
    Values p = in.at("p"), v = in.at("v");
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double g = in.at("g")[i] + in.at("decay")[i] * p[i];
      v[i] = momentum * v[i] + g;
      p[i] -= state.learning_rate * (nesterov ? g + momentum * v[i] : v[i]);
    }
    return Arrays{{"p", p}, {"v", v}};
  };
  return c;
}

// The update is the learning rate times a quotient of less than 16 here, each of whose parts has
// about ten roundings.
Tolerance adam_parameter(float learning_rate) {
  return {(2 + 16 * 20 * learning_rate) * kUnitRoundoff, 0, "20 roundings of a quotient < 16"};
}

Arrays adam_reference(const AdamOptions& options, const StepState& state, const Arrays& in) {
  Values p = in.at("p"), m = in.at("m"), v = in.at("v");
  const double t = state.step + 1.0, learning_rate = state.learning_rate;
  const double correction1 = 1 - std::pow(options.beta1, t);
  const double correction2 = 1 - std::pow(options.beta2, t);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double decay = in.at("decay")[i];
    const double g = in.at("g")[i] + (options.decoupled ? 0 : decay * p[i]);
    if (options.decoupled) p[i] *= 1 - learning_rate * decay;
    m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
    v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
    p[i] -=
        learning_rate * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + options.epsilon);
  }
  return {{"p", p}, {"m", m}, {"v", v}};
}

Case adam_case(bool decoupled, std::uint32_t step, std::size_t size) {
  const StepState state = state_at(step, 0.01f);
  const AdamOptions options{.decoupled = decoupled};
  Case c("size=" + std::to_string(size) + " step=" + std::to_string(step));
  c.flops = 14.0 * static_cast<double>(size);
  c.opaque("state", state);
  c.opaque("diverged", std::uint32_t{0});
  add_slices(c, size);
  c.in_out("p", uniform_values(size, -1, 1, 2), adam_parameter(state.learning_rate));
  c.in_out("m", uniform_values(size, -1, 1, 3), kMoment);
  c.in_out("v", uniform_values(size, 0.01, 1, 4), kMoment);
  c.launch = [=](cudaStream_t stream, const DeviceArrays& device) {
    adam_update(stream, device.span<StepState>("state"), device.span<std::uint32_t>("diverged"),
                options, device.span("p"), device.span("m"), device.span("v"), device.span("g"),
                device.span("decay"));
  };
  c.reference = [=](const Arrays& in) { return adam_reference(options, state, in); };
  return c;
}

const std::size_t kSizes[] = {1, 7, 8, 257, 20011};
constexpr std::size_t kSeedCnn = 551722;  // parameters

}  // namespace

std::vector<Entry> optimizer_entries() {
  std::vector<Entry> entries;
  for (bool nesterov : {false, true}) {
    Entry entry{.name = nesterov ? "sgd_update nesterov" : "sgd_update"};
    for (std::size_t size : kSizes)
      entry.tested.push_back([=] { return sgd_case(nesterov, size); });
    entry.timed.push_back([=] { return sgd_case(nesterov, kSeedCnn); });
    entries.push_back(entry);
  }
  for (bool decoupled : {false, true}) {
    Entry entry{.name = decoupled ? "adam_update decoupled" : "adam_update"};
    for (std::size_t size : kSizes)
      entry.tested.push_back([=] { return adam_case(decoupled, 0, size); });
    for (std::uint32_t step : {1u, 999u, 1000000u})
      entry.tested.push_back([=] { return adam_case(decoupled, step, 100); });
    entry.timed.push_back([=] { return adam_case(decoupled, 999, kSeedCnn); });
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace annulus::registry
