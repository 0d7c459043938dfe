// cuDNN's dropout on the CPU device: descriptors of tensors and dropouts, and calls that declare
// what they touch. The masks are not those of the real library; the size of a reserve space, and
// statuses that the library gives without a GPU, are those of 9.19.
#include <cudnn.h>
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudnn/dropout_mask.h"
#include "kernels/cpu/cudnn/status.h"

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::size_t elements = 0;
};

struct cudnnDropoutStruct {
  float rate = 0;
  void* states = nullptr;
};

namespace annulus::cpu {
namespace {

void fill(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float rate, void* states,
          std::size_t bytes) {
  require(descriptor && handle, CUDNN_STATUS_BAD_PARAM, "dropout descriptor: a null argument");
  require(rate >= 0 && rate <= 1, CUDNN_STATUS_BAD_PARAM,
          fmt::format("dropout descriptor: a rate of {}", rate));
  require(bytes >= kStatesBytes, CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
          fmt::format("dropout descriptor: {} bytes for states; cudnnDropoutGetStatesSize says {}",
                      bytes, kStatesBytes));
  *descriptor = {rate, states};
}

std::optional<Format> format_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return Format::fp32;
    case CUDNN_DATA_BFLOAT16:
      return Format::bf16;
    case CUDNN_DATA_HALF:
      return Format::fp16;
    default:
      return std::nullopt;
  }
}

// A call's arrays, of one size and type, once the space for the mask is seen to be enough.
DroppedArrays arrays_of(cudnnDropoutDescriptor_t descriptor, cudnnTensorDescriptor_t from,
                        const void* in, cudnnTensorDescriptor_t to, void* out,
                        std::size_t reserve_bytes) {
  require(descriptor && from && to, CUDNN_STATUS_BAD_PARAM, "dropout: a null descriptor");
  require(from->elements == to->elements, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
          fmt::format("dropout: {} elements to {}", from->elements, to->elements));
  const std::optional<Format> format = format_of(from->type);
  require(format && from->type == to->type, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
          "dropout: the CPU device has float, half and bfloat16, to the same type");
  require(reserve_bytes >= mask_bytes(from->elements), CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
          fmt::format("dropout: a reserve space of {} bytes; cudnnDropoutGetReserveSpaceSize says "
                      "{}",
                      reserve_bytes, mask_bytes(from->elements)));
  return {from->elements, *format, in, out};
}

void queue(cudnnHandle_t handle, const char* what, std::initializer_list<Access> accesses,
           std::function<void()> work) {
  cudaStream_t stream = nullptr;
  require(cudnnGetStream(handle, &stream) == CUDNN_STATUS_SUCCESS, CUDNN_STATUS_BAD_PARAM,
          fmt::format("{}: a null handle", what));
  const cudaError_t queued = enqueue(stream, what, accesses, std::move(work));
  require(queued == cudaSuccess, CUDNN_STATUS_EXECUTION_FAILED_CUDART,
          fmt::format("{}: {}", what, cudaGetErrorString(queued)));
}

}  // namespace
}  // namespace annulus::cpu

using namespace annulus::cpu;

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensorDesc) {
  return guarded([&] {
    require(tensorDesc != nullptr, CUDNN_STATUS_BAD_PARAM, "a null tensor descriptor");
    *tensorDesc = new cudnnTensorStruct;
  });
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t,
                                         cudnnDataType_t dataType, int n, int c, int h, int w) {
  return guarded([&] {
    require(tensorDesc != nullptr, CUDNN_STATUS_BAD_PARAM, "a null tensor descriptor");
    require(n >= 1 && c >= 1 && h >= 1 && w >= 1, CUDNN_STATUS_BAD_PARAM,
            fmt::format("tensor descriptor: dimensions {}, {}, {}, {}", n, c, h, w));
    *tensorDesc = {dataType, std::size_t(n) * std::size_t(c) * std::size_t(h) * std::size_t(w)};
  });
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensorDesc) {
  delete tensorDesc;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* dropoutDesc) {
  return guarded([&] {
    require(dropoutDesc != nullptr, CUDNN_STATUS_BAD_PARAM, "a null dropout descriptor");
    *dropoutDesc = new cudnnDropoutStruct;
  });
}

cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc) {
  delete dropoutDesc;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* sizeInBytes) {
  return guarded([&] {
    require(handle && sizeInBytes, CUDNN_STATUS_BAD_PARAM, "dropout states: a null argument");
    *sizeInBytes = kStatesBytes;
  });
}

cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t xdesc, size_t* sizeInBytes) {
  return guarded([&] {
    require(xdesc && sizeInBytes, CUDNN_STATUS_BAD_PARAM, "dropout reserve space: a null argument");
    *sizeInBytes = mask_bytes(xdesc->elements);
  });
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle,
                                        float dropout, void* states, size_t stateSizeInBytes,
                                        unsigned long long seed) {
  return guarded([&] {
    fill(dropoutDesc, handle, dropout, states, stateSizeInBytes);
    queue(handle, "cudnn dropout seed", {{states, kStatesBytes, true}}, [=] {
      *static_cast<GeneratorStates*>(states) = {seed, 0};
    });
  });
}

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc,
                                            cudnnHandle_t handle, float dropout, void* states,
                                            size_t stateSizeInBytes, unsigned long long) {
  return guarded([&] { fill(dropoutDesc, handle, dropout, states, stateSizeInBytes); });
}

cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc,
                                  const cudnnTensorDescriptor_t xdesc, const void* x,
                                  const cudnnTensorDescriptor_t ydesc, void* y, void* reserveSpace,
                                  size_t reserveSpaceSizeInBytes) {
  return guarded([&] {
    const DroppedArrays arrays =
        arrays_of(dropoutDesc, xdesc, x, ydesc, y, reserveSpaceSizeInBytes);
    const std::size_t bytes = arrays.elements * bytes_of(arrays.format);
    queue(handle, "cudnn dropout forward",
          {{x, bytes, false},
           {dropoutDesc->states, kStatesBytes, true},
           {y, bytes, true},
           {reserveSpace, mask_bytes(arrays.elements), true}},
          [=, descriptor = *dropoutDesc] {
            draw_mask_and_apply(*static_cast<GeneratorStates*>(descriptor.states), descriptor.rate,
                                arrays, static_cast<std::uint32_t*>(reserveSpace));
          });
  });
}

cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc,
                                   const cudnnTensorDescriptor_t dydesc, const void* dy,
                                   const cudnnTensorDescriptor_t dxdesc, void* dx,
                                   void* reserveSpace, size_t reserveSpaceSizeInBytes) {
  return guarded([&] {
    const DroppedArrays arrays =
        arrays_of(dropoutDesc, dydesc, dy, dxdesc, dx, reserveSpaceSizeInBytes);
    const std::size_t bytes = arrays.elements * bytes_of(arrays.format);
    queue(
        handle, "cudnn dropout backward",
        {{dy, bytes, false}, {reserveSpace, mask_bytes(arrays.elements), false}, {dx, bytes, true}},
        [=, rate = dropoutDesc->rate] {
          apply_mask(rate, arrays, static_cast<const std::uint32_t*>(reserveSpace));
        });
  });
}
