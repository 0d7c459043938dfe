// Softmax cross-entropy: one warp a row writes the row's loss, hit and gradient; one block then
// sums the rows. Invariant: the order of every sum follows from the shape alone. Called by
// engine/step and engine/evaluate.
#include "kernels/softmax_xent.h"

#include <algorithm>
#include <cmath>

#include "kernels/packet.h"
#include "kernels/simt.h"

namespace annulus {
inline namespace softmax_xent_kernels {

constexpr unsigned kWarp = 32;
constexpr unsigned kRowsPerBlock = kBlock / kWarp;

struct Target {
  float smoothing, gradient_scale;

  SPAN_FN Target scaled(Span<const LossScale> loss_scale) const {
    if (loss_scale.empty()) return *this;
    return {smoothing, gradient_scale * loss_scale[0].factor};
  }
  // The loss of a row from its shifted logits z = x - max: log(sum exp z), the label's z, the mean
  // of z. Without smoothing the mean must not enter: it is -infinity where a class is ruled out.
  SPAN_FN float loss(float log_sum, float label, float mean) const {
    const float certain = log_sum - label;
    return smoothing > 0 ? (1 - smoothing) * certain + smoothing * (log_sum - mean) : certain;
  }
  SPAN_FN float gradient(float probability, bool is_label, int classes) const {
    const float spread = smoothing / static_cast<float>(classes);
    return gradient_scale * (probability - (is_label ? 1 - smoothing + spread : spread));
  }
};

template <class T, class Combine>
__device__ T warp_reduce(T value, Combine combine) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(~0u, value, distance));
  return value;
}
template <class T>
__device__ T warp_sum(T value) {
  return warp_reduce(value, [](T a, T b) { return a + b; });
}
template <class T>
__device__ T warp_max(T value) {
  return warp_reduce(value, [](T a, T b) { return a > b ? a : b; });
}
template <class T>
__device__ T warp_min(T value) {
  return warp_reduce(value, [](T a, T b) { return a < b ? a : b; });
}

// rows[2N]: the losses, then the hits (1 or 0).
template <class T>
__global__ void xent_rows(int classes, Target target, Span<const LossScale> loss_scale,
                          Span<const T> logits, Span<const std::int32_t> labels, Span<T> dlogits,
                          Span<float> rows) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const std::size_t row = std::size_t{blockIdx.x} * kRowsPerBlock + threadIdx.x / kWarp;
  if (row >= labels.size) return;  // the whole warp leaves
  const std::size_t first = row * classes;
  const int label = labels[row];

  const auto logit = [&](int c) { return static_cast<float>(logits[first + c]); };
  float largest = -INFINITY;
  int where = classes;
  for (int c = lane; c < classes; c += kWarp)
    if (logit(c) > largest) {
      largest = logit(c);
      where = c;
    }
  const float row_max = warp_max(largest);
  where = warp_min(largest == row_max ? where : classes);

  float sum = 0, sum_shifted = 0;
  for (int c = lane; c < classes; c += kWarp) {
    sum += ::expf(logit(c) - row_max);
    sum_shifted += logit(c) - row_max;
  }
  sum = warp_sum(sum);
  sum_shifted = warp_sum(sum_shifted);
  if (lane == 0) {
    rows[row] = target.loss(::logf(sum), logit(label) - row_max, sum_shifted / classes);
    rows[labels.size + row] = where == label ? 1.f : 0.f;
  }
  __syncwarp();  // dlogits may be logits: the label's logit has been read
  if (dlogits.empty()) return;
  const Target scaled = target.scaled(loss_scale);
  for (int c = lane; c < classes; c += kWarp)
    dlogits[first + c] =
        static_cast<T>(scaled.gradient(::expf(logit(c) - row_max) / sum, c == label, classes));
}

// One block: thread t sums rows t, t + kBlock, …; then a tree.
__global__ void sum_rows(Span<const float> rows, Span<float> result) {
  __shared__ float partial[2][kBlock];
  const std::size_t count = rows.size / 2;
  float loss = 0, hits = 0;
  for (std::size_t r = threadIdx.x; r < count; r += kBlock) {
    loss += rows[r];
    hits += rows[count + r];
  }
  partial[0][threadIdx.x] = loss;
  partial[1][threadIdx.x] = hits;
  for (unsigned half = kBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    partial[0][threadIdx.x] += partial[0][threadIdx.x + half];
    partial[1][threadIdx.x] += partial[1][threadIdx.x + half];
  }
  if (threadIdx.x == 0) {
    result[0] = partial[0][0];
    result[1] = partial[1][0];
  }
}

#if !defined(__CUDACC__)
constexpr std::size_t kPieceLogits = 4096;  // enough work to be worth a thread

// Returns the index of the largest logit, the first of equal ones; -1 if no logit is a number
// above -infinity.
template <class T>
int xent_row(int label, Target target, Span<const T> logits, T* dlogits, float* loss) {
  const int classes = static_cast<int>(logits.size);
  const auto logit = [&](int c) { return static_cast<float>(logits[c]); };
  float largest = -INFINITY;
  int where = -1;
  for (int c = 0; c < classes; ++c)
    if (logit(c) > largest) {
      largest = logit(c);
      where = c;
    }
  float sum = 0, sum_shifted = 0;
  for (int c = 0; c < classes; ++c) {
    sum += ::expf(logit(c) - largest);
    sum_shifted += logit(c) - largest;
  }
  *loss = target.loss(::logf(sum), logit(label) - largest, sum_shifted / classes);
  if (dlogits)
    for (int c = 0; c < classes; ++c)
      dlogits[c] =
          static_cast<T>(target.gradient(::expf(logit(c) - largest) / sum, c == label, classes));
  return where;
}

template <class T>
void xent_rows_cpu(int classes, Target target, Span<const LossScale> loss_scale,
                   Span<const T> logits, Span<const std::int32_t> labels, Span<T> dlogits,
                   Span<float> rows) {
  const std::size_t per_piece = std::max<std::size_t>(1, kPieceLogits / classes);
  const Target scaled = target.scaled(loss_scale);
  simt::parallel((labels.size + per_piece - 1) / per_piece, [&](std::size_t piece) {
    const std::size_t end = std::min(labels.size, (piece + 1) * per_piece);
    for (std::size_t row = piece * per_piece; row < end; ++row) {
      const int where =
          xent_row<T>(labels[row], scaled, logits.subspan(row * classes, classes),
                      dlogits.empty() ? nullptr : &dlogits[row * classes], &rows[row]);
      rows[labels.size + row] = where == labels[row] ? 1.f : 0.f;
    }
  });
}

// The same order as sum_rows, and so the same bits.
float tree_sum(Span<const float> values) {
  float partial[kBlock] = {};
  for (std::size_t i = 0; i < values.size; ++i) partial[i % kBlock] += values[i];
  for (std::size_t half = kBlock / 2; half > 0; half /= 2)
    for (std::size_t t = 0; t < half; ++t) partial[t] += partial[t + half];
  return partial[0];
}

void sum_rows_cpu(Span<const float> rows, Span<float> result) {
  const std::size_t count = rows.size / 2;
  result[0] = tree_sum(rows.subspan(0, count));
  result[1] = tree_sum(rows.subspan(count, count));
}
#endif

}  // namespace softmax_xent_kernels

std::size_t softmax_xent_workspace(int rows) { return 2 * static_cast<std::size_t>(rows); }

template <class T>
void softmax_xent(cudaStream_t stream, int classes, Span<const T> logits,
                  Span<const std::int32_t> labels, float smoothing, float gradient_scale,
                  std::type_identity_t<Span<T>> dlogits, Span<float> result, Span<float> workspace,
                  Span<const LossScale> loss_scale) {
  const Span<float> rows = workspace.subspan(0, 2 * labels.size);
  const auto blocks = static_cast<unsigned>((labels.size + kRowsPerBlock - 1) / kRowsPerBlock);
  if (blocks)
    launch(xent_rows<T>, blocks, kBlock, 0, stream, classes, Target{smoothing, gradient_scale},
           loss_scale, logits, labels, dlogits, rows);
  launch(sum_rows, 1, kBlock, 0, stream, rows, result);
}

namespace {
#define ANNULUS_KERNELS(T)  \
  SIMT_KERNEL(xent_rows<T>) \
  SIMT_CPU_FORM((xent_rows<T>), (xent_rows_cpu<T>))
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_KERNELS)
SIMT_KERNEL(sum_rows)
SIMT_CPU_FORM(sum_rows, sum_rows_cpu)
}  // namespace

#define ANNULUS_INSTANTIATE(T)                                                                     \
  template void softmax_xent<T>(cudaStream_t, int, Span<const T>, Span<const std::int32_t>, float, \
                                float, std::type_identity_t<Span<T>>, Span<float>, Span<float>,    \
                                Span<const LossScale>);
ANNULUS_FOR_ACTIVATION_TYPES(ANNULUS_INSTANTIATE)

}  // namespace annulus
