// RAII over cuDNN's descriptors of tensors and dropouts.
#include "kernels/dropout_cudnn.h"

#include <type_traits>

#include "kernels/check.h"
#include "kernels/cudnn_graph.h"

namespace annulus {
namespace {

template <class Handle, cudnnStatus_t (*create)(Handle*), cudnnStatus_t (*destroy)(Handle)>
std::shared_ptr<std::remove_pointer_t<Handle>> made() {
  Handle handle = nullptr;
  CUDNN_CHECK(create(&handle));
  return {handle, [](Handle h) { destroy(h); }};
}

using TensorDescriptor = std::shared_ptr<cudnnTensorStruct>;
using DropoutDescriptor = std::shared_ptr<cudnnDropoutStruct>;

// Which elements make a sample does not matter to cuDNN.
TensorDescriptor tensor(int images, std::size_t sample_size, Element element) {
  TensorDescriptor descriptor =
      made<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>();
  CUDNN_CHECK(cudnnSetTensor4dDescriptor(descriptor.get(), CUDNN_TENSOR_NHWC,
                                         cudnn_graph::type_of(element), images,
                                         static_cast<int>(sample_size), 1, 1));
  return descriptor;
}

DropoutDescriptor dropout_descriptor() {
  return made<cudnnDropoutDescriptor_t, cudnnCreateDropoutDescriptor,
              cudnnDestroyDropoutDescriptor>();
}

}  // namespace

Span<std::byte> DropoutStates::allocated(const CudnnHandle& handle) {
  if (states_.size() == 0) {
    std::size_t bytes = 0;
    CUDNN_CHECK(cudnnDropoutGetStatesSize(handle.get(), &bytes));
    states_ = Buffer<std::byte>(bytes);
  }
  return states_.span();
}

void DropoutStates::seed(const CudnnHandle& handle, cudaStream_t stream, std::uint64_t seed) const {
  if (states_.size() == 0) return;
  const DropoutDescriptor descriptor = dropout_descriptor();
  CUDNN_CHECK(cudnnSetStream(handle.get(), stream));
  CUDNN_CHECK(cudnnSetDropoutDescriptor(descriptor.get(), handle.get(), 0, states_.span().data,
                                        states_.size(), seed));
}

std::size_t cudnn_dropout_mask_bytes(int images, std::size_t sample_size) {
  std::size_t bytes = 0;
  CUDNN_CHECK(
      cudnnDropoutGetReserveSpaceSize(tensor(images, sample_size, Element::fp32).get(), &bytes));
  return bytes;
}

struct CudnnDropoutPlan::Impl {
  TensorDescriptor tensor;
  DropoutDescriptor dropout;
  Element element;
};

// Restore, as cuDNN calls it, leaves the states as they are.
CudnnDropoutPlan::CudnnDropoutPlan(const CudnnHandle& handle, Span<std::byte> states, float rate,
                                   int images, std::size_t sample_size, Element element)
    : impl_(std::make_unique<Impl>(
          Impl{tensor(images, sample_size, element), dropout_descriptor(), element})) {
  CUDNN_CHECK(cudnnRestoreDropoutDescriptor(impl_->dropout.get(), handle.get(), rate, states.data,
                                            states.size, 0));
}
CudnnDropoutPlan::~CudnnDropoutPlan() = default;
CudnnDropoutPlan::CudnnDropoutPlan(CudnnDropoutPlan&&) noexcept = default;
CudnnDropoutPlan& CudnnDropoutPlan::operator=(CudnnDropoutPlan&&) noexcept = default;

void CudnnDropoutPlan::forward(const CudnnHandle& handle, cudaStream_t stream, AnyInput x,
                               AnyOutput y, Span<std::byte> mask) const {
  require_element(impl_->element, {x, y}, "CudnnDropoutPlan::forward");
  CUDNN_CHECK(cudnnSetStream(handle.get(), stream));
  CUDNN_CHECK(cudnnDropoutForward(handle.get(), impl_->dropout.get(), impl_->tensor.get(), x.data,
                                  impl_->tensor.get(), y.data, mask.data, mask.bytes()));
}

void CudnnDropoutPlan::backward(const CudnnHandle& handle, cudaStream_t stream, AnyInput dy,
                                AnyOutput dx, Span<std::byte> mask) const {
  require_element(impl_->element, {dy, dx}, "CudnnDropoutPlan::backward");
  CUDNN_CHECK(cudnnSetStream(handle.get(), stream));
  CUDNN_CHECK(cudnnDropoutBackward(handle.get(), impl_->dropout.get(), impl_->tensor.get(), dy.data,
                                   impl_->tensor.get(), dx.data, mask.data, mask.bytes()));
}

}  // namespace annulus
