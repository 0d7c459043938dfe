// Softmax cross-entropy with label smoothing: loss, hits and the gradient of the logits in one
// call. With smoothing s and K classes the target is (1 - s) * onehot + s / K (Szegedy et al. 2016,
// arXiv:1512.00567; PyTorch's CrossEntropyLoss(label_smoothing=s)).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/span.h"

namespace annulus {

// Floats of workspace for `rows` samples.
std::size_t softmax_xent_workspace(int rows);

// logits[N,K], labels[N] in [0,K).  result[0] = sum of the losses, result[1] = number of rows whose
// largest logit (the first of equal ones) is the label, both in an order fixed by the shape.
// dlogits[N,K] = gradient_scale * (softmax - target); pass an empty span for the loss alone.
// dlogits may be logits. Logits of any size are fine; NaN or +infinity among a row's logits makes
// its loss, and so result[0], NaN.
void softmax_xent(cudaStream_t stream, int classes, Span<const float> logits,
                  Span<const std::int32_t> labels, float smoothing, float gradient_scale,
                  Span<float> dlogits, Span<float> result, Span<float> workspace);

}  // namespace annulus
