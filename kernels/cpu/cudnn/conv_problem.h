// A two-dimensional convolution as numbers: the shape alone, from which the plan and its cuts
// follow.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/format.h"

namespace annulus::cpu {

enum class ConvPass { forward, data_gradient, weight_gradient };

// x [images,height,width,channels] * w [filters,kernel,kernel,channels] -> y
// [images,out,out,filters].
struct ConvProblem {
  ConvPass pass = ConvPass::forward;
  std::int64_t images = 0, channels = 0, filters = 0;
  // Each: height, then width.
  std::array<std::int64_t, 2> in{}, out{}, kernel{}, stride{}, dilation{}, pad_before{},
      pad_after{};
  bool bias = false, relu = false;  // forward only
  // Of both inputs, of what is written, and of the bias.
  Format input = Format::fp32, output = Format::fp32, bias_format = Format::fp32;

  std::int64_t x_per_image() const { return in[0] * in[1] * channels; }
  std::int64_t y_per_image() const { return out[0] * out[1] * filters; }
  std::int64_t w_elements() const { return filters * kernel[0] * kernel[1] * channels; }
  bool is_fp32() const {
    return input == Format::fp32 && output == Format::fp32 && bias_format == Format::fp32;
  }
  double flops_per_image() const { return 2.0 * double(out[0] * out[1]) * double(w_elements()); }
};

}  // namespace annulus::cpu
