// Softmax cross-entropy with label smoothing: loss, hits and the gradient of the logits in one
// call. With smoothing s and K classes the target is (1 - s) * onehot + s / K (Szegedy et al. 2016,
// arXiv:1512.00567; PyTorch's CrossEntropyLoss(label_smoothing=s)).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/any_span.h"
#include "kernels/loss_scale.h"
#include "kernels/span.h"

namespace annulus {

// Floats of workspace for `rows` samples.
std::size_t softmax_xent_workspace(int rows);

// logits[N,K] and dlogits[N,K] of type T: float, __nv_bfloat16 or __half; labels[N] in [0,K).
// result[0] = sum of the losses, result[1] = number of rows whose largest logit (the first of equal
// ones) is the label, both in an order fixed by the shape.
// dlogits = gradient_scale * (softmax - target), where loss_scale is not empty also times
// loss_scale[0].factor, rounded to T once; pass an empty span for the loss alone. dlogits may be
// logits. Logits of any size are fine; NaN or +infinity among a row's logits makes its loss, and so
// result[0], NaN.
template <class T>
void softmax_xent(cudaStream_t stream, int classes, Span<const T> logits,
                  Span<const std::int32_t> labels, float smoothing, float gradient_scale,
                  std::type_identity_t<Span<T>> dlogits, Span<float> result, Span<float> workspace,
                  Span<const LossScale> loss_scale = {});
template <class T>
void softmax_xent(cudaStream_t stream, int classes, Span<T> logits, Span<const std::int32_t> labels,
                  float smoothing, float gradient_scale, std::type_identity_t<Span<T>> dlogits,
                  Span<float> result, Span<float> workspace,
                  Span<const LossScale> loss_scale = {}) requires(!std::is_const_v<T>) {
  softmax_xent(stream, classes, Span<const T>(logits), labels, smoothing, gradient_scale, dlogits,
               result, workspace, loss_scale);
}
// The same on logits whose type is known at run time.
inline void softmax_xent(cudaStream_t stream, int classes, AnyInput logits,
                         Span<const std::int32_t> labels, float smoothing, float gradient_scale,
                         AnyOutput dlogits, Span<float> result, Span<float> workspace,
                         Span<const LossScale> loss_scale = {}) {
  with_element(logits.element, [&]<class T>() {
    softmax_xent(stream, classes, logits.as<const T>(), labels, smoothing, gradient_scale,
                 dlogits.as<T>(), result, workspace, loss_scale);
  });
}

}  // namespace annulus
