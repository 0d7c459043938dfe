// The cuDNN operation graph of a convolution, in one place: what conv.cpp plans and runs, and what
// cuDNN is asked about for devices that are not there (cudnn_engines.h).
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <vector>

#include "kernels/conv.h"
#include "kernels/cudnn_graph.h"

namespace annulus {

// Names of the graph's tensors: a, b and out as ConvKind's comments order them.
namespace conv_uid {
inline constexpr std::int64_t a = 1, b = 2, bias = 3, out = 4, convolved = 5, biased = 6;
}  // namespace conv_uid

bool conv_has_bias(ConvKind kind);

// The graph's tensors hold `element`, bias and weight gradient too: cuDNN has no engine that reads
// halves and writes an fp32 weight gradient, and for halves with an fp32 bias none that is compiled
// ahead. Sums are fp32, and so is what lives only inside the graph. Throws DeviceError.
std::vector<cudnn_graph::Descriptor> conv_operations(const ConvShape& shape, ConvKind kind,
                                                     Element element = Element::fp32);

}  // namespace annulus
