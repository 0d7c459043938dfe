// oneDNN convolutions over given numbers of images, made single-threaded at plan time, with their
// scratchpads and the weights' own memory format left to the caller. Called by conv_images.cpp and
// conv_weight_gradient.cpp.
#pragma once

#include <dnnl.hpp>

#include <cstdint>
#include <map>
#include <vector>

#include "kernels/cpu/cudnn/conv_pieces.h"
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

// A convolution for each size of piece in the cut, by images; all take their weights in one format.
std::map<std::int64_t, OnednnConv> make_onednn_convs(const ConvProblem& problem,
                                                     const std::vector<ImageRange>& cut);

// w and bias as the program lays them out: KRSC, [K].
dnnl::memory::desc plain_weights(const ConvProblem& problem);
dnnl::memory::desc plain_bias(const ConvProblem& problem);

}  // namespace annulus::cpu
