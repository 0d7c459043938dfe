// Thin RAII over cuDNN's backend descriptors: what the engine owns in place of cudnn-frontend. A
// Descriptor is filled by chained calls and finalized; makers below cover what Annulus builds: NHWC
// tensors, 2-d convolutions, pointwise operations and graphs of them. Every failure throws
// DeviceError. Used by conv.cpp, conv_graph.cpp, batchnorm_cudnn.cpp,
// batchnorm_graph.cpp and cudnn_engines.cpp. Shapes are given as cuDNN
// counts them (N, C, H, W), the memory is NHWC. cuDNN developer guide, "Graph API".
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "kernels/check.h"
#include "kernels/precision.h"

namespace annulus::cudnn_graph {

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return handle_.get(); }

  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::int64_t count, const void* elements);
  Descriptor& set(cudnnBackendAttributeName_t name, std::int64_t value);
  Descriptor& set(cudnnBackendAttributeName_t name, std::initializer_list<std::int64_t> values);
  Descriptor& set(cudnnBackendAttributeName_t name, float value);
  Descriptor& set(cudnnBackendAttributeName_t name, bool value);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnHandle_t value);
  // The descriptor keeps the ones it refers to alive.
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value);
  Descriptor& set(cudnnBackendAttributeName_t name, const std::vector<Descriptor>& values);
  Descriptor& finalize();

 private:
  std::shared_ptr<void> handle_;
  std::vector<Descriptor> referred_;
};

cudnnDataType_t type_of(Element element);

// [n,h,w,c] in memory. A virtual tensor lives only inside a graph.
enum class TensorKind { real, virtual_tensor };
Descriptor nhwc_tensor(std::int64_t uid, std::int64_t n, std::int64_t c, std::int64_t h,
                       std::int64_t w, TensorKind kind = TensorKind::real,
                       cudnnDataType_t type = CUDNN_DATA_FLOAT);

// [1,c,1,1] of fp32, wherever floats may lie.
Descriptor channel_tensor(std::int64_t uid, std::int64_t c);
// One float that a variant pack brings from the program's own memory.
Descriptor number_by_value(std::int64_t uid);

struct Pair {
  std::int64_t h, w;
};
Descriptor convolution(Pair stride, Pair pad);

Descriptor convolution_forward(const Descriptor& convolution, const Descriptor& x,
                               const Descriptor& w, const Descriptor& y);
Descriptor convolution_data_gradient(const Descriptor& convolution, const Descriptor& dy,
                                     const Descriptor& w, const Descriptor& dx);
Descriptor convolution_weight_gradient(const Descriptor& convolution, const Descriptor& x,
                                       const Descriptor& dy, const Descriptor& dw);
Descriptor pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor& y);
Descriptor pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor& b,
                     const Descriptor& y);

// Without a handle the graph belongs to no device: it can be asked about, not run.
Descriptor operation_graph(const std::vector<Descriptor>& operations,
                           cudnnHandle_t handle = nullptr);

std::int64_t workspace_bytes(const Descriptor& plan);

// Tensor uids with their device addresses, and the workspace.
Descriptor variant_pack(const std::vector<std::int64_t>& uids, const std::vector<void*>& pointers,
                        void* workspace);

}  // namespace annulus::cudnn_graph
