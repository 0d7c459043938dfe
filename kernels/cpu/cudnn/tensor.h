// A tensor descriptor as numbers. Called by graph.cpp and execution_plan.cpp.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cpu/cudnn/descriptor.h"
#include "kernels/cpu/format.h"

namespace annulus::cpu {

struct Tensor {
  std::int64_t uid = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<std::int64_t> dimensions, strides;  // N, C, H, W whatever the layout
  std::int64_t alignment = 1;
  bool is_virtual = false;

  std::size_t elements() const;
  std::size_t bytes() const;
  Format format() const;  // of one that the device supports
};

Tensor tensor_of(const Descriptor& descriptor);

// When a tensor descriptor is finalized: throws BAD_PARAM for what contradicts itself.
void check_tensor(const Descriptor& descriptor);

// Throws NOT_SUPPORTED_… unless the tensor is packed NHWC of float or a half type.
void require_supported(const Tensor& tensor);

}  // namespace annulus::cpu
