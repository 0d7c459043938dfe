// One oneDNN convolution over a given number of images, made single-threaded at plan time, with its
// scratchpad and its weights' own memory format left to the caller. Called by conv_images.cpp and
// conv_weight_gradient.cpp.
#pragma once

#include <dnnl.hpp>

#include <cstdint>

#include "kernels/cpu/cudnn/conv_problem.h"

namespace annulus::cpu {

// The process's oneDNN engine, and this thread's stream on it.
const dnnl::engine& onednn_engine();
dnnl::stream& onednn_stream();

struct OnednnConv {
  dnnl::primitive primitive;
  dnnl::memory::desc x, y;        // NHWC, of the given images
  dnnl::memory::desc weights;     // w or dw in the format the primitive wants
  dnnl::memory::desc scratchpad;  // may be empty
};

// The convolution of `images` images. `weights` is a format to keep to (the plan's other primitive
// has chosen it), or null to choose freely.
OnednnConv make_onednn_conv(const ConvProblem& problem, std::int64_t images,
                            const dnnl::memory::desc* weights);

// w and bias as the program lays them out: KRSC, [K].
dnnl::memory::desc plain_weights(const ConvProblem& problem);
dnnl::memory::desc plain_bias(const ConvProblem& problem);

}  // namespace annulus::cpu
