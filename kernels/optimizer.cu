// The optimizers' updates: one pass over a slice, each element by itself. Invariant: no element
// depends on how the arena is cut into slices, so buckets can be updated in any order.
#include "kernels/optimizer.h"

#include <cmath>

#include "kernels/divergence.h"
#include "kernels/simt.h"

namespace annulus {
inline namespace optimizer_kernels {

__global__ void sgd(float momentum, bool nesterov, Span<const StepState> state,
                    Span<const std::uint32_t> halts, Span<float> p, Span<float> v,
                    Span<const float> g, Span<const float> decay) {
  const float learning_rate = state[0].learning_rate;
  for (std::size_t i : grid_stride(is_halted(halts) ? 0 : p.size)) {
    const float gradient = g[i] + decay[i] * p[i];
    const float velocity = momentum * v[i] + gradient;
    v[i] = velocity;
    p[i] -= learning_rate * (nesterov ? gradient + momentum * velocity : velocity);
  }
}

struct AdamFactors {
  float beta1, new1;           // m = beta1 * m + new1 * g
  float beta2, new2;           // v = beta2 * v + new2 * g^2
  float log_beta1, log_beta2;  // 1 - beta^t = -expm1(t * log(beta)), without cancellation
  float epsilon;
  bool decoupled;
};

__global__ void adam(AdamFactors a, Span<const StepState> state, Span<const std::uint32_t> halts,
                     Span<float> p, Span<float> m, Span<float> v, Span<const float> g,
                     Span<const float> decay) {
  const float t = static_cast<float>(state[0].step + 1);
  const float learning_rate = state[0].learning_rate;
  const float step_size = learning_rate / -::expm1f(t * a.log_beta1);
  const float root_correction = ::sqrtf(-::expm1f(t * a.log_beta2));
  for (std::size_t i : grid_stride(is_halted(halts) ? 0 : p.size)) {
    const float old = p[i];
    const float gradient = a.decoupled ? g[i] : g[i] + decay[i] * old;
    const float decayed = a.decoupled ? old - learning_rate * decay[i] * old : old;
    const float first = a.beta1 * m[i] + a.new1 * gradient;
    const float second = a.beta2 * v[i] + a.new2 * gradient * gradient;
    m[i] = first;
    v[i] = second;
    p[i] = decayed - step_size * first / (::sqrtf(second) / root_correction + a.epsilon);
  }
}

}  // namespace optimizer_kernels

void sgd_update(cudaStream_t stream, Span<const StepState> state, Span<const std::uint32_t> halts,
                float momentum, bool nesterov, Span<float> p, Span<float> v, Span<const float> g,
                Span<const float> decay) {
  if (p.empty()) return;
  launch(sgd, grid_for(p.size), kBlock, 0, stream, momentum, nesterov, state, halts, p, v, g,
         decay);
}

void adam_update(cudaStream_t stream, Span<const StepState> state, Span<const std::uint32_t> halts,
                 const AdamOptions& options, Span<float> p, Span<float> m, Span<float> v,
                 Span<const float> g, Span<const float> decay) {
  if (p.empty()) return;
  const AdamFactors factors{.beta1 = static_cast<float>(options.beta1),
                            .new1 = static_cast<float>(1 - options.beta1),
                            .beta2 = static_cast<float>(options.beta2),
                            .new2 = static_cast<float>(1 - options.beta2),
                            .log_beta1 = static_cast<float>(std::log(options.beta1)),
                            .log_beta2 = static_cast<float>(std::log(options.beta2)),
                            .epsilon = static_cast<float>(options.epsilon),
                            .decoupled = options.decoupled};
  launch(adam, grid_for(p.size), kBlock, 0, stream, factors, state, halts, p, m, v, g, decay);
}

namespace {
SIMT_ELEMENTWISE(sgd)
SIMT_ELEMENTWISE(adam)
}  // namespace

}  // namespace annulus
