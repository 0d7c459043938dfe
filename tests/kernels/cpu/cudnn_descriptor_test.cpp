// cuDNN's backend descriptors on the CPU device: the statuses and words of misuse. Where a status
// is the real library's, it was read off cuDNN 9.19, which finalizes descriptors without a GPU.
#include <cudnn.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "kernels/conv.h"
#include "kernels/cpu/cudart/reports.h"
#include "kernels/cuda.h"
#include "kernels/cudnn_engines.h"
#include "kernels/cudnn_graph.h"

namespace annulus {
namespace {

namespace graph = cudnn_graph;
using graph::Descriptor;

std::string last_words() {
  std::array<char, 256> words{};
  cudnnGetLastErrorString(words.data(), words.size());
  return words.data();
}

template <class T>
cudnnStatus_t set(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, const std::vector<T>& elements) {
  return cudnnBackendSetAttribute(descriptor.get(), name, type, std::int64_t(elements.size()),
                                  elements.data());
}

using Int64s = std::vector<std::int64_t>;

cudnnStatus_t set_dimensions(const Descriptor& tensor, const Int64s& dimensions) {
  return set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dimensions);
}

TEST(CudnnDescriptor, TakesAttributesOfItsOwnWithTheirTypeAndCount) {
  const Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(set_dimensions(tensor, {2, 3, 4, 5}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(set<float>(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, {1}),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(set<std::int64_t>(tensor, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, {1, 1}),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set<std::int64_t>(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {1, 2}),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set_dimensions(tensor, {}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendSetAttribute(tensor.get(), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1,
                                     nullptr),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(
      cudnnBackendSetAttribute(nullptr, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr),
      CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST(CudnnDescriptor, IsFinalizedOnceAndThenOnlyRead) {
  const Descriptor tensor = graph::nhwc_tensor(7, 2, 3, 4, 5);
  EXPECT_EQ(cudnnBackendFinalize(tensor.get()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(set_dimensions(tensor, {2, 3, 4, 5}), CUDNN_STATUS_BAD_PARAM);
  EXPECT_NE(last_words().find("after finalize"), std::string::npos);

  Int64s read(CUDNN_DIM_MAX);
  std::int64_t count = 0;
  const auto get = [&](const Descriptor& from, std::int64_t requested) {
    return cudnnBackendGetAttribute(from.get(), CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
                                    requested, &count, read.data());
  };
  EXPECT_EQ(get(tensor, CUDNN_DIM_MAX), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(Int64s(read.begin(), read.begin() + 4), (Int64s{2, 3, 4, 5}));
  EXPECT_EQ(get(tensor, 2), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(get(Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR), 4), CUDNN_STATUS_NOT_INITIALIZED);
}

TEST(CudnnDescriptor, NamesTheMissingAttribute) {
  const Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set_dimensions(tensor, {2, 3, 4, 5});
  EXPECT_EQ(cudnnBackendFinalize(tensor.get()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(last_words(), "tensor descriptor: required attribute 900 is not set");
  EXPECT_EQ(last_words(), "");  // reading clears

  cudnnBackendFinalize(tensor.get());
  std::array<char, 7> little{};
  cudnnGetLastErrorString(little.data(), little.size());
  EXPECT_STREQ(little.data(), "tensor");
}

TEST(CudnnDescriptor, RefusesTensorsThatContradictThemselves) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, std::int64_t(1))
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t(16))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {2, 3, 4, 5})
      .set(CUDNN_ATTR_TENSOR_STRIDES, {60, 1, 15});
  EXPECT_EQ(cudnnBackendFinalize(tensor.get()), CUDNN_STATUS_BAD_PARAM);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, {60, 1, 15, 3})
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, {2, 3, -4, 5});
  EXPECT_EQ(cudnnBackendFinalize(tensor.get()), CUDNN_STATUS_BAD_PARAM);
}

TEST(CudnnDescriptor, RefusesTypesItDoesNotHave) {
  cudnnBackendDescriptor_t none = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t(31), &none),
            CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
  EXPECT_EQ(cudnnBackendFinalize(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

// x [2,6,6,8], w [16,3,3,8], pad 1 -> y [2,6,6,16].
struct Example {
  Descriptor convolution = graph::convolution({1, 1}, {1, 1});
  Descriptor x = graph::nhwc_tensor(1, 2, 8, 6, 6), w = graph::nhwc_tensor(2, 16, 8, 3, 3);
  Descriptor y = graph::nhwc_tensor(3, 2, 16, 6, 6);
  Descriptor inner = graph::nhwc_tensor(4, 2, 16, 6, 6, graph::TensorKind::virtual_tensor);
};

// An operation of `x`, `w`, `y`, not finalized.
Descriptor unfinished_forward(const Descriptor& convolution, const Descriptor& x,
                              const Descriptor& w, const Descriptor& y) {
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  return operation;
}

TEST(CudnnOperation, RefusesPartsThatAreNotFinalizedAndShapesThatDoNotFollow) {
  const Example e;
  const auto finalize = [&](const Descriptor& x, const Descriptor& w, const Descriptor& y) {
    return cudnnBackendFinalize(unfinished_forward(e.convolution, x, w, y).get());
  };
  EXPECT_EQ(finalize(e.x, e.w, e.y), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(finalize(Descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR), e.w, e.y),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_NE(last_words().find("not finalized"), std::string::npos);
  EXPECT_EQ(finalize(e.x, e.w, graph::nhwc_tensor(3, 2, 16, 5, 6)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalize(e.x, e.w, graph::nhwc_tensor(3, 3, 16, 6, 6)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(finalize(e.x, graph::nhwc_tensor(2, 16, 5, 3, 3), e.y), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnBackendFinalize(
                Descriptor(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR).get()),
            CUDNN_STATUS_BAD_PARAM);
}

// What heuristics say to a graph of these operations.
cudnnStatus_t support(const std::vector<Descriptor>& operations) {
  Descriptor operation_graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  operation_graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations).finalize();
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operation_graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  return cudnnBackendFinalize(heuristics.get());
}

Descriptor tensor_of(std::int64_t uid, cudnnDataType_t type,
                     std::initializer_list<std::int64_t> dimensions,
                     std::initializer_list<std::int64_t> strides) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  return tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t(16))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, dimensions)
      .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .finalize();
}

TEST(CudnnGraph, SaysWhyItIsNotSupported) {
  const Example e;
  const auto forward = [&](const Descriptor& x, const Descriptor& w, const Descriptor& y) {
    return graph::convolution_forward(e.convolution, x, w, y);
  };
  EXPECT_EQ(support({forward(e.x, e.w, e.y)}), CUDNN_STATUS_SUCCESS);

  const Descriptor nchw = tensor_of(1, CUDNN_DATA_FLOAT, {2, 8, 6, 6}, {288, 36, 6, 1});
  EXPECT_EQ(support({forward(nchw, e.w, e.y)}), CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
  const Descriptor half = tensor_of(1, CUDNN_DATA_HALF, {2, 8, 6, 6}, {288, 1, 48, 8});
  EXPECT_EQ(support({forward(half, e.w, e.y)}), CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
  const Descriptor grouped = graph::nhwc_tensor(2, 16, 4, 3, 3);
  EXPECT_EQ(support({forward(e.x, grouped, e.y)}), CUDNN_STATUS_NOT_SUPPORTED_SHAPE);

  Descriptor scaled = unfinished_forward(e.convolution, e.x, e.w, e.y);
  scaled.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 2.0f).finalize();
  EXPECT_EQ(support({scaled}), CUDNN_STATUS_NOT_SUPPORTED);
}

TEST(CudnnGraph, TakesABiasAndThenAReluAfterTheConvolution) {
  const Example e;
  const Descriptor bias = graph::nhwc_tensor(5, 1, 16, 1, 1);
  const Descriptor inner2 = graph::nhwc_tensor(6, 2, 16, 6, 6, graph::TensorKind::virtual_tensor);
  const Descriptor convolved = graph::convolution_forward(e.convolution, e.x, e.w, e.inner);
  const auto add = [&](const Descriptor& x, const Descriptor& b, const Descriptor& y) {
    return graph::pointwise(CUDNN_POINTWISE_ADD, x, b, y);
  };
  const auto relu = [&](const Descriptor& x, const Descriptor& y) {
    return graph::pointwise(CUDNN_POINTWISE_RELU_FWD, x, y);
  };
  EXPECT_EQ(support({convolved, add(e.inner, bias, e.y)}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(support({convolved, relu(e.inner, e.y)}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(support({convolved, add(e.inner, bias, inner2), relu(inner2, e.y)}),
            CUDNN_STATUS_SUCCESS);

  const cudnnStatus_t pattern = CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
  EXPECT_EQ(support({convolved, relu(e.inner, inner2), add(inner2, bias, e.y)}), pattern);
  EXPECT_EQ(support({convolved, add(e.inner, e.x, e.y)}), pattern);
  EXPECT_EQ(support({convolved}), pattern);           // a virtual output
  EXPECT_EQ(support({relu(e.inner, e.y)}), pattern);  // no convolution
  EXPECT_EQ(
      support({graph::convolution_forward(e.convolution, e.x, e.w, e.y), relu(e.inner, inner2)}),
      pattern);  // an operation that nothing joins
}

TEST(CudnnGraph, RefusesTensorsThatAreWrittenTwice) {
  const Example e;
  const Descriptor forward = graph::convolution_forward(e.convolution, e.x, e.w, e.y);
  Descriptor operation_graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  operation_graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, {forward, forward});
  EXPECT_EQ(cudnnBackendFinalize(operation_graph.get()), CUDNN_STATUS_BAD_PARAM);
}

TEST(CudnnGraph, AThrownRefusalCarriesCallAndWords) {
  const Example e;
  const CudnnHandle handle;
  const Descriptor nchw = tensor_of(1, CUDNN_DATA_FLOAT, {2, 8, 6, 6}, {288, 36, 6, 1});
  try {
    graph::plan(handle.get(), {graph::convolution_forward(e.convolution, nchw, e.w, e.y)});
    FAIL() << "planned NCHW";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("NOT_SUPPORTED_LAYOUT"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("not packed NHWC"), std::string::npos);
  }
}

// A planned forward convolution with its memory, and one way to run it.
class CudnnExecute : public testing::Test {
 protected:
  void TearDown() override { cpu::clear_reports(); }

  cudnnStatus_t execute(const std::vector<std::int64_t>& uids, const std::vector<void*>& pointers,
                        void* workspace) {
    const Descriptor pack = graph::variant_pack(uids, pointers, workspace);
    return cudnnBackendExecute(handle.get(), plan.get(), pack.get());
  }
  // Whether exactly one report of this kind was made.
  static bool reported(const std::string& kind) {
    const auto all = cpu::reports();
    return all.size() == 1 && all.front().kind == kind;
  }

  CudnnHandle handle;
  Example example;
  Descriptor plan = graph::plan(
      handle.get(),
      {graph::convolution_forward(example.convolution, example.x, example.w, example.y)});
  Buffer<float> x{2 * 6 * 6 * 8}, w{16 * 3 * 3 * 8}, y{2 * 6 * 6 * 16};
  Buffer<std::byte> workspace{std::size_t(graph::workspace_bytes(plan))};
  float* px = x.span().data;
  float* pw = w.span().data;
  float* py = y.span().data;
  std::byte* scratch = workspace.span().data;
};

TEST_F(CudnnExecute, RunsAndNeedsEveryTensor) {
  EXPECT_GT(graph::workspace_bytes(plan), 0);
  EXPECT_EQ(execute({1, 2, 3}, {px, pw, py}, scratch), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(execute({1, 2}, {px, pw}, scratch), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(last_words(), "variant pack: tensor 3 has no pointer");
  EXPECT_EQ(execute({1, 2, 3}, {px, nullptr, py}, scratch), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(execute({1, 2, 3}, {px, pw + 1, py}, scratch),
            CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  EXPECT_EQ(cpu::report_count(), 0u);
}

TEST_F(CudnnExecute, ReportsAWorkspaceThatIsMissingSmallOrOnTheHost) {
  EXPECT_EQ(execute({1, 2, 3}, {px, pw, py}, nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_TRUE(reported("workspace"));
  cpu::clear_reports();
  const Buffer<std::byte> small(workspace.size() / 2);
  EXPECT_EQ(execute({1, 2, 3}, {px, pw, py}, small.span().data), CUDNN_STATUS_BAD_PARAM);
  EXPECT_TRUE(reported("workspace"));
  cpu::clear_reports();
  std::vector<std::byte> host(workspace.size());
  EXPECT_EQ(execute({1, 2, 3}, {px, pw, py}, host.data()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_TRUE(reported("workspace"));
  EXPECT_NE(cpu::reports().front().message.find("EXECUTION_PLAN_WORKSPACE_SIZE"),
            std::string::npos);
}

TEST_F(CudnnExecute, ReportsAHostTensor) {
  alignas(16) static std::array<float, 2 * 6 * 6 * 8> host{};
  EXPECT_EQ(execute({1, 2, 3}, {host.data(), pw, py}, scratch),
            CUDNN_STATUS_EXECUTION_FAILED_CUDART);
  EXPECT_TRUE(reported("host pointer"));
}

TEST_F(CudnnExecute, TakesFinalizedDescriptorsOfTheRightKind) {
  const Descriptor empty(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  EXPECT_EQ(cudnnBackendExecute(handle.get(), plan.get(), empty.get()),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(cudnnBackendExecute(handle.get(), plan.get(), plan.get()),
            CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  EXPECT_EQ(cudnnBackendExecute(nullptr, plan.get(), empty.get()), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnExecute, APlanOutlivesTheDescriptorsItWasMadeOf) {
  std::unique_ptr<Example> parts = std::make_unique<Example>();
  plan = graph::plan(
      handle.get(), {graph::convolution_forward(parts->convolution, parts->x, parts->w, parts->y)});
  cudnnBackendDescriptor_t bare = plan.get();
  parts.reset();
  const Descriptor pack = graph::variant_pack({1, 2, 3}, {px, pw, py}, scratch);
  EXPECT_EQ(cudnnBackendExecute(handle.get(), bare, pack.get()), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(CudnnHandleTest, KeepsItsStream) {
  const CudnnHandle handle;
  const Stream stream;
  cudaStream_t read = nullptr;
  EXPECT_EQ(cudnnSetStream(handle.get(), stream.get()), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudnnGetStream(handle.get(), &read), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(read, stream.get());
  EXPECT_EQ(cudnnCreate(nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnSetStream(nullptr, nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnGetVersion(), std::size_t(CUDNN_VERSION));
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT),
               "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT");
  EXPECT_STREQ(cudnnGetErrorString(cudnnStatus_t(1234)), "CUDNN_UNKNOWN_STATUS");
}

}  // namespace
}  // namespace annulus
