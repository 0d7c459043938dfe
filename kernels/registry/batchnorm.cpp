// Entries of kernels/batchnorm: each activation with and without the pool; the textbook's formulas
// in double.
#include "kernels/batchnorm.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/registry/activation_reference.h"
#include "kernels/registry/entries.h"

namespace annulus::registry {
namespace {

// Tolerances, for inputs of size up to 3 and deviation about 1. A pre-activation takes five
// roundings (mean, inv_std, difference, product, fma) of terms up to 4; GELU adds normal_cdf's
// 2^-22 times |z| < 6.
constexpr double kPreActivation = 5 * 4 * kUnitRoundoff, kGeluError = 6 * 0x1p-22;
const Tolerance kMean{2 * 3 * kUnitRoundoff, 0, "corrected mean: two roundings of terms up to 3"};
const Tolerance kSpread{0, 8 * kUnitRoundoff,
                        "a piece's sum of squares: up to 256 roundings, a walk of 16 halves"};

Tolerance output_tolerance(Activation f) {
  if (f == Activation::gelu)
    return {1.2 * kPreActivation + kGeluError, 0,
            "|f'| < 1.2 times z's roundings, plus Phi's error"};
  return {kPreActivation, 0, "five roundings of terms up to 4"};
}

// Of a sum of M terms up to 4, each already rounded: partial sums walk up to sqrt(M), M roundings
// walk again.
Tolerance sum_tolerance(const BatchNormShape& s) {
  const double terms = static_cast<double>(s.rows());
  return {4 * terms * kUnitRoundoff + (s.activation == Activation::gelu ? 4 * kGeluError : 0), 0,
          "M roundings of partial sums up to sqrt(M), which are random walks both"};
}

Tolerance input_gradient_tolerance(const BatchNormShape& s) {
  return {1.5 * (6 * 2 * kUnitRoundoff + (s.activation == Activation::gelu ? kGeluError : 0)), 0,
          "scale up to 1.5 times six roundings of terms up to 2, and GELU's slope"};
}

std::string label(const BatchNormShape& s) {
  return "N=" + std::to_string(s.images) + " H=" + std::to_string(s.height) +
         " W=" + std::to_string(s.width) + " C=" + std::to_string(s.channels);
}

// The indices in x of the window that makes y[i], row-major; of x[i] alone where there is no pool.
std::vector<std::size_t> window_of(const BatchNormShape& s, std::size_t i) {
  if (!s.pool) return {i};
  const std::size_t channels = s.channels, down = s.height / 2, across = s.width / 2;
  const std::size_t c = i % channels, q = i / channels % across;
  const std::size_t p = i / channels / across % down, n = i / channels / across / down;
  const auto at = [&](std::size_t row, std::size_t column) {
    return ((n * s.height + row) * s.width + column) * channels + c;
  };
  return {at(2 * p, 2 * q), at(2 * p, 2 * q + 1), at(2 * p + 1, 2 * q), at(2 * p + 1, 2 * q + 1)};
}

struct Moments {
  Values mean, variance;  // biased
};

Moments moments(const BatchNormShape& s, const Values& x) {
  const double rows = static_cast<double>(s.rows());
  Moments m{Values(s.channels), Values(s.channels)};
  for (std::size_t i = 0; i < x.size(); ++i) m.mean[i % s.channels] += x[i] / rows;
  for (std::size_t i = 0; i < x.size(); ++i)
    m.variance[i % s.channels] += std::pow(x[i] - m.mean[i % s.channels], 2) / rows;
  return m;
}

Values inverse_deviation(const BatchNormShape& s, const Values& variance) {
  Values result;
  for (double v : variance) result.push_back(1 / std::sqrt(v + s.epsilon));
  return result;
}

// in: gamma, beta, mean, inv_std, x. z and f(z) of every element of x.
Values pre_activations(const BatchNormShape& s, const Arrays& in) {
  Values z = in.at("x");
  for (std::size_t i = 0; i < z.size(); ++i) {
    const std::size_t c = i % s.channels;
    z[i] = in.at("gamma")[c] * (z[i] - in.at("mean")[c]) * in.at("inv_std")[c] + in.at("beta")[c];
  }
  return z;
}

std::size_t winner(const BatchNormShape& s, const Values& z, std::size_t i) {
  const std::vector<std::size_t> window = window_of(s, i);
  return *std::max_element(window.begin(), window.end(), [&](std::size_t a, std::size_t b) {
    return activate(s.activation, z[a]) < activate(s.activation, z[b]);
  });
}

Values normalized(const BatchNormShape& s, const Arrays& in) {
  const Values z = pre_activations(s, in);
  Values y(s.out_size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = activate(s.activation, z[winner(s, z, i)]);
  return y;
}

// Adds mean and inv_std of x to the inputs.
Arrays with_statistics(const BatchNormShape& s, Arrays in) {
  const Moments m = moments(s, in.at("x"));
  in["mean"] = m.mean;
  in["inv_std"] = inverse_deviation(s, m.variance);
  return in;
}

Arrays forward_reference(const BatchNormShape& s, double weight, const Arrays& inputs) {
  const Arrays in = with_statistics(s, inputs);
  const Moments m = moments(s, in.at("x"));
  const double rows = static_cast<double>(s.rows());
  Values statistics;
  for (double mean : m.mean) statistics.push_back(weight * mean);
  for (double variance : m.variance)
    statistics.push_back(weight * variance * rows / std::max(rows - 1, 1.));
  return {{"y", normalized(s, in)},
          {"mean", in.at("mean")},
          {"inv_std", in.at("inv_std")},
          {"statistics", statistics}};
}

// Ioffe & Szegedy 2015, section 3, with the gradient of z routed through pool and activation.
Arrays backward_reference(const BatchNormShape& s, const Arrays& in) {
  const Values z = pre_activations(s, in), &x = in.at("x"), &dy = in.at("dy");
  const Values &mean = in.at("mean"), &inv_std = in.at("inv_std");
  const double rows = static_cast<double>(s.rows());
  Values g(x.size()), dgamma(s.channels), dbeta(s.channels), dx(x.size());
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const std::size_t from = winner(s, z, i), c = i % s.channels;
    g[from] = dy[i] * slope(s.activation, z[from]);
    dbeta[c] += g[from];
    dgamma[c] += g[from] * (x[from] - mean[c]) * inv_std[c];
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % s.channels;
    const double normalized_x = (x[i] - mean[c]) * inv_std[c];
    dx[i] =
        in.at("gamma")[c] * inv_std[c] * (g[i] - dbeta[c] / rows - normalized_x * dgamma[c] / rows);
  }
  return {{"dx", dx}, {"dgamma", dgamma}, {"dbeta", dbeta}};
}

// x has a mean of its own in each channel; in steps of 1/2, for windows with equal maxima, where
// `ties`.
Values layer_input(const BatchNormShape& s, bool ties) {
  Values x = uniform_values(s.in_size(), -2, 2, 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += 0.5 * std::sin(double(i % s.channels));
  if (ties)
    for (double& value : x) value = std::round(2 * value) / 2;
  return x;
}

void add_parameters(Case& c, const BatchNormShape& s) {
  c.input("gamma", uniform_values(s.channels, 0.5, 1.5, 2));
  c.input("beta", uniform_values(s.channels, -0.5, 0.5, 3));
}

constexpr float kWeight = 0.25f;

template <class T>
Case forward_case(const BatchNormShape& s, bool ties) {
  Case c(label(s) + (ties ? " ties" : ""));
  c.flops = static_cast<double>(s.in_size()) * (s.activation == Activation::gelu ? 38 : 9);
  c.input<T>("x", layer_input(s, ties));
  add_parameters(c, s);
  c.output("mean", s.channels, kMean);
  c.output("inv_std", s.channels, kSpread);
  c.output("statistics", 2 * s.channels, {kMean.absolute, kSpread.relative, "as mean and inv_std"});
  c.output<T>("y", s.out_size(), output_tolerance(s.activation));
  c.workspace("workspace", batchnorm_workspace(s));
  c.launch = [s](cudaStream_t stream, const DeviceArrays& device) {
    batchnorm_forward(stream, s, device.span<T>("x"), device.span("gamma"), device.span("beta"),
                      device.span("mean"), device.span("inv_std"), device.span("statistics"),
                      kWeight, device.span<T>("y"), device.span("workspace"));
  };
  c.reference = [s](const Arrays& in) { return forward_reference(s, kWeight, in); };
  return c;
}

template <class T>
Case backward_case(const BatchNormShape& s, bool ties) {
  Case c(label(s) + (ties ? " ties" : ""));
  c.flops = static_cast<double>(s.in_size()) * (s.activation == Activation::gelu ? 76 : 16);
  const Values x = layer_input(s, ties);
  const Arrays statistics = with_statistics(s, {{"x", x}});
  c.input<T>("x", x);
  add_parameters(c, s);
  c.input("mean", statistics.at("mean"));
  c.input("inv_std", statistics.at("inv_std"));
  c.input<T>("dy", uniform_values(s.out_size(), -1, 1, 4));
  c.output<T>("dx", s.in_size(), input_gradient_tolerance(s));
  c.output("dgamma", s.channels, sum_tolerance(s));
  c.output("dbeta", s.channels, sum_tolerance(s));
  c.workspace("workspace", batchnorm_workspace(s));
  c.launch = [s](cudaStream_t stream, const DeviceArrays& device) {
    batchnorm_backward(stream, s, device.span<T>("x"), device.span<T>("dy"), device.span("mean"),
                       device.span("inv_std"), device.span("gamma"), device.span("beta"),
                       device.span<T>("dx"), device.span("dgamma"), device.span("dbeta"),
                       device.span("workspace"));
  };
  c.reference = [s](const Arrays& in) { return backward_reference(s, in); };
  return c;
}

template <class T>
Case inference_case(const BatchNormShape& s, bool ties) {
  Case c(label(s) + (ties ? " ties" : ""));
  c.flops = static_cast<double>(s.in_size()) * (s.activation == Activation::gelu ? 34 : 5);
  c.input<T>("x", layer_input(s, ties));
  add_parameters(c, s);
  Values running = uniform_values(s.channels, -0.5, 0.5, 5);
  const Values variance = uniform_values(s.channels, 0.5, 2, 6);
  running.insert(running.end(), variance.begin(), variance.end());
  c.input("running", running);
  c.output<T>("y", s.out_size(), output_tolerance(s.activation));
  c.launch = [s](cudaStream_t stream, const DeviceArrays& device) {
    batchnorm_inference(stream, s, device.span<T>("x"), device.span("gamma"), device.span("beta"),
                        device.span("running"), device.span<T>("y"));
  };
  c.reference = [s](Arrays in) {
    const Values& running = in.at("running");
    in["mean"] = Values(running.begin(), running.begin() + s.channels);
    in["inv_std"] = inverse_deviation(s, Values(running.begin() + s.channels, running.end()));
    return Arrays{{"y", normalized(s, in)}};
  };
  return c;
}

GradientCheck gradient_check(const BatchNormShape& s) {
  GradientCheck check;
  check.inputs = {{"x", layer_input(s, false)},
                  {"gamma", uniform_values(s.channels, 0.5, 1.5, 2)},
                  {"beta", uniform_values(s.channels, -0.5, 0.5, 3)},
                  {"dy", uniform_values(s.out_size(), -1, 1, 4)}};
  check.loss = [s](const Arrays& in) {
    const Values y = normalized(s, with_statistics(s, in));
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += in.at("dy")[i] * y[i];
    return sum;
  };
  check.gradient = [s](const Arrays& in) {
    const Arrays gradients = backward_reference(s, with_statistics(s, in));
    return Arrays{{"x", gradients.at("dx")},
                  {"gamma", gradients.at("dgamma")},
                  {"beta", gradients.at("dbeta")}};
  };
  return check;
}

Case update_running_case(int channels) {
  Case c("C=" + std::to_string(channels));
  const float momentum = 0.1f;
  c.flops = 6. * channels;
  c.opaque("diverged", std::uint32_t{0});
  c.input("batch", uniform_values(2 * channels, -1, 1, 1));
  c.in_out("running", uniform_values(2 * channels, -1, 1, 2),
           {3 * kUnitRoundoff, 0, "three roundings of terms up to 1"});
  c.launch = [momentum](cudaStream_t stream, const DeviceArrays& device) {
    update_running_statistics(stream, device.span<std::uint32_t>("diverged"), device.span("batch"),
                              momentum, device.span("running"));
  };
  c.reference = [momentum](const Arrays& in) {
    Values running = in.at("running");
    for (std::size_t i = 0; i < running.size(); ++i)
      running[i] += momentum * (in.at("batch")[i] - running[i]);
    return Arrays{{"running", running}};
  };
  return c;
}

using MakeBatchNormCase = Case (*)(const BatchNormShape&, bool ties);

// One pixel; odd sizes; one, some and several blocks of channels with and without a rest; several
// pieces.
const BatchNormShape kTested[] = {{1, 1, 1, 1},  {2, 3, 5, 7},  {3, 4, 4, 16},
                                  {2, 5, 4, 33}, {1, 2, 3, 72}, {5, 13, 11, 32}};
const BatchNormShape kTimed[] = {{64, 32, 32, 32}, {64, 16, 16, 64}, {64, 8, 8, 128}};

template <class T>
Entry entry(const std::string& name, MakeBatchNormCase make, Activation f, bool pool) {
  Entry e{.name = name_with<T>(name + " " + name_of(f) + (pool ? " pool" : ""))};
  const auto fused = [=](BatchNormShape s) {
    s.activation = f;
    s.pool = pool;
    return s;
  };
  for (const BatchNormShape& s : kTested) {
    if (pool && (s.height < 2 || s.width < 2)) continue;
    e.tested.push_back([=] { return make(fused(s), false); });
  }
  if (pool) e.tested.push_back([=] { return make(fused({2, 5, 4, 33}), true); });
  for (const BatchNormShape& s : kTimed) e.timed.push_back([=] { return make(fused(s), false); });
  return e;
}

template <class T>
std::vector<Entry> entries_of_type() {
  std::vector<Entry> entries;
  for (Activation f : {Activation::none, Activation::relu, Activation::gelu}) {
    for (bool pool : {false, true}) {
      entries.push_back(entry<T>("batchnorm_forward", forward_case<T>, f, pool));
      entries.push_back(entry<T>("batchnorm_backward", backward_case<T>, f, pool));
      BatchNormShape small{2, 3, 4, 3};
      small.activation = f;
      small.pool = pool;
      entries.back().gradient = [small] { return gradient_check(small); };
      entries.push_back(entry<T>("batchnorm_inference", inference_case<T>, f, pool));
    }
  }
  return entries;
}

}  // namespace

std::vector<Entry> batchnorm_entries() {
  std::vector<Entry> entries;
  for_activation_types([&entries]<class T>() {
    for (Entry& entry : entries_of_type<T>()) entries.push_back(std::move(entry));
  });
  Entry running{.name = "update_running_statistics"};
  for (int channels : {1, 7, 512})
    running.tested.push_back([=] { return update_running_case(channels); });
  running.timed.push_back([] { return update_running_case(576); });
  entries.push_back(running);
  return entries;
}

}  // namespace annulus::registry
