// The cuDNN operation graphs of a batch norm, in one place: what batchnorm_cudnn.cpp plans and
// runs, and what cuDNN is asked about for devices that are not there (cudnn_engines.h). cuDNN
// developer guide, "Graph API", norm forward and backward operations.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/batchnorm.h"
#include "kernels/cudnn_graph.h"
#include "kernels/precision.h"

namespace annulus {

enum class BatchNormPass { forward, backward };

// Names of the graphs' tensors. The running ones are what cuDNN makes of zeros and a factor: the
// factor times the batch's mean and unbiased variance.
namespace batchnorm_uid {
inline constexpr std::int64_t x = 1, gamma = 2, mean = 3, inv_std = 4;    // both
inline constexpr std::int64_t y = 5, beta = 6, epsilon = 7, factor = 8;   // forward
inline constexpr std::int64_t zero_mean = 9, zero_variance = 10;          // forward
inline constexpr std::int64_t running_mean = 11, running_variance = 12;   // forward
inline constexpr std::int64_t dy = 13, dx = 14, dgamma = 15, dbeta = 16;  // backward
}  // namespace batchnorm_uid

// Training. x, y and their gradients hold `element`, the rest fp32. The shape's activation and pool
// are no part of it. Throws DeviceError.
std::vector<cudnn_graph::Descriptor> batchnorm_operations(const BatchNormShape& shape,
                                                          BatchNormPass pass,
                                                          Element element = Element::fp32);

}  // namespace annulus
