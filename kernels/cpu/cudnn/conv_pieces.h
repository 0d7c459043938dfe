// How a convolution is cut: into pieces of whole images, by its shape alone. Every piece is one
// single-threaded oneDNN call; the pieces, and the order in which weight gradients are summed, are
// the same on every machine and for any number of threads. Called by conv_images.cpp and
// conv_weight_gradient.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/cudnn/conv_problem.h"

namespace annulus::cpu {

struct ImageRange {
  std::int64_t first, count;
};

// Pieces of sizes that differ by at most one image, larger ones first.
std::vector<ImageRange> cut_images(const ConvProblem& problem);

}  // namespace annulus::cpu
