// cuDNN's entry points on the CPU device: handles, backend descriptors, heuristics with one engine,
// execution. Statuses follow the real library 9.19, which was asked (docs of a call are in NVIDIA's
// cudnn_graph reference).
#include <fmt/format.h>
#include <dnnl.hpp>

#include <algorithm>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudnn/conv_execution.h"
#include "kernels/cpu/cudnn/descriptor.h"
#include "kernels/cpu/cudnn/graph.h"
#include "kernels/cpu/cudnn/status.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace annulus::cpu {
namespace {

// What finalizing an execution plan prepares.
struct PreparedPlan {
  ConvTask task;
  std::shared_ptr<const ConvExecution> execution;
};

PreparedPlan prepare(const Descriptor& plan) {
  const Descriptor& config = plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Descriptor& engine = config.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  PreparedPlan prepared{conv_task_of(engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)), nullptr};
  try {
    prepared.execution = plan_convolution(prepared.task.problem);
  } catch (const dnnl::error& error) {
    throw CudnnFailure(
        CUDNN_STATUS_NOT_SUPPORTED,
        fmt::format("oneDNN has no primitive for this convolution: {}", error.what()));
  }
  return prepared;
}

void finalize(Descriptor& descriptor) {
  require(!descriptor.finalized(), CUDNN_STATUS_BAD_PARAM,
          fmt::format("{} descriptor: finalized twice", descriptor.name()));
  descriptor.require_complete();
  switch (descriptor.type()) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      check_tensor(descriptor);
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      check_convolution_operation(descriptor);
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      check_operation_graph(descriptor);
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      conv_task_of(descriptor.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      require(descriptor.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == 0,
              CUDNN_STATUS_NOT_SUPPORTED, "engine: the CPU device has one, with index 0");
      conv_task_of(descriptor.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      descriptor.product = std::make_shared<const PreparedPlan>(prepare(descriptor));
      break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      require(descriptor.values<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).size() ==
                  descriptor.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size(),
              CUDNN_STATUS_BAD_PARAM, "variant pack: as many unique ids as data pointers");
      break;
    default:
      break;
  }
  descriptor.mark_finalized();
}

// The engine that every heuristic mode proposes, as a finalized configuration in `config`.
void propose_engine(const Descriptor& heuristics, Descriptor& config) {
  require(config.type() == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
          CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
          "engine heuristics: results go into engine configuration descriptors");
  auto engine = std::make_shared<Descriptor>(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  DescriptorHandle graph{heuristics.children(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).front()};
  const cudnnBackendDescriptor_t graph_handle = &graph;
  const std::int64_t index = 0;
  engine->set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph_handle);
  engine->set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
  finalize(*engine);
  DescriptorHandle made{engine};
  const cudnnBackendDescriptor_t engine_handle = &made;
  config.set(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine_handle);
  finalize(config);
}

// Attributes that are results, not stored: true when `name` was one of them.
bool get_result(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, std::int64_t requested, std::int64_t& count,
                void* elements) {
  const auto give = [&](std::int64_t value) {
    require(type == CUDNN_TYPE_INT64, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
            fmt::format("attribute {} is an int64", int(name)));
    count = 1;
    if (elements && requested > 0) *static_cast<std::int64_t*>(elements) = value;
    return true;
  };
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      require(descriptor.type() == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_STATUS_BAD_PARAM,
              "only engine heuristics have results");
      require(type == CUDNN_TYPE_BACKEND_DESCRIPTOR, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
              "heuristics' results are descriptors");
      count = 1;
      if (elements && requested > 0) {
        propose_engine(descriptor,
                       *descriptor_of(*static_cast<cudnnBackendDescriptor_t*>(elements)));
      }
      return true;
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return give(1);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: {
      const auto* plan = static_cast<const PreparedPlan*>(descriptor.product.get());
      require(plan != nullptr, CUDNN_STATUS_BAD_PARAM, "only execution plans have a workspace");
      return give(std::int64_t(plan->execution->workspace_bytes()));
    }
    default:
      return false;
  }
}

// The pointer of a tensor in the pack, checked as far as the device can before it is used.
void* pointer_of(const Tensor& tensor, const Descriptor& pack) {
  const auto uids = pack.values<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.values<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  const auto found = std::find(uids.begin(), uids.end(), tensor.uid);
  require(found != uids.end(), CUDNN_STATUS_BAD_PARAM,
          fmt::format("variant pack: tensor {} has no pointer", tensor.uid));
  void* pointer = pointers[std::size_t(found - uids.begin())];
  require(pointer != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
          fmt::format("variant pack: tensor {} has a null pointer", tensor.uid));
  require(reinterpret_cast<std::uintptr_t>(pointer) % std::size_t(tensor.alignment) == 0,
          CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
          fmt::format("variant pack: tensor {} is at {}, its descriptor promises {} bytes",
                      tensor.uid, pointer, tensor.alignment));
  return pointer;
}

void* workspace_of(const Descriptor& pack, std::size_t needed) {
  void* workspace = pack.value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr);
  if (!workspace || !is_device_memory(workspace, needed)) {
    const std::string words = fmt::format(
        "cudnnBackendExecute: {} is not {} bytes of device memory; give the plan the workspace "
        "that CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE asks for",
        workspace, needed);
    report("workspace", words);
    throw CudnnFailure(CUDNN_STATUS_BAD_PARAM, words);
  }
  return workspace;
}

const char* name_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::forward:
      return "cudnn convolution forward";
    case ConvPass::data_gradient:
      return "cudnn convolution data gradient";
    case ConvPass::weight_gradient:
      return "cudnn convolution weight gradient";
  }
  return "cudnn convolution";
}

void execute(const cudnnContext& handle, const Descriptor& plan, const Descriptor& pack) {
  require(plan.type() == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
              pack.type() == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
          CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
          "cudnnBackendExecute takes an execution plan and a variant pack");
  require(plan.finalized() && pack.finalized(), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
          "cudnnBackendExecute: plan or variant pack is not finalized");
  const auto prepared = std::static_pointer_cast<const PreparedPlan>(plan.product);
  const ConvTask& task = prepared->task;
  const std::size_t workspace_bytes = prepared->execution->workspace_bytes();
  const ConvPointers pointers{pointer_of(task.a, pack), pointer_of(task.b, pack),
                              task.bias ? pointer_of(*task.bias, pack) : nullptr,
                              pointer_of(task.out, pack), workspace_of(pack, workspace_bytes)};
  const cudaError_t queued = enqueue(handle.stream, name_of(task.problem.pass),
                                     {{pointers.a, task.a.bytes(), false},
                                      {pointers.b, task.b.bytes(), false},
                                      {pointers.bias, task.bias ? task.bias->bytes() : 0, false},
                                      {pointers.out, task.out.bytes(), true},
                                      {pointers.workspace, workspace_bytes, true}},
                                     [prepared, pointers] { prepared->execution->run(pointers); });
  require(queued == cudaSuccess, CUDNN_STATUS_EXECUTION_FAILED_CUDART,
          fmt::format("{}: {}", name_of(task.problem.pass), cudaGetErrorString(queued)));
}

}  // namespace
}  // namespace annulus::cpu

using namespace annulus::cpu;

size_t cudnnGetVersion(void) { return CUDNN_VERSION; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return guarded([&] {
    require(handle != nullptr, CUDNN_STATUS_BAD_PARAM, "cudnnCreate: a null handle");
    *handle = new cudnnContext;
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return guarded([&] {
    require(handle != nullptr, CUDNN_STATUS_BAD_PARAM, "cudnnSetStream: a null handle");
    handle->stream = stream;
  });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return guarded([&] {
    require(handle && stream, CUDNN_STATUS_BAD_PARAM, "cudnnGetStream: a null argument");
    *stream = handle->stream;
  });
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  return guarded([&] {
    require(descriptor != nullptr, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a null descriptor");
    *descriptor = new DescriptorHandle{std::make_shared<Descriptor>(type)};
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return guarded([&] {
    descriptor_of(descriptor);
    delete static_cast<DescriptorHandle*>(descriptor);
  });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  return guarded([&] { descriptor_of(descriptor)->set(name, type, count, elements); });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t requested_count,
                                       int64_t* count, void* elements) {
  return guarded([&] {
    const DescriptorPtr found = descriptor_of(descriptor);
    require(found->finalized(), CUDNN_STATUS_NOT_INITIALIZED,
            fmt::format("{} descriptor: attribute read before finalize", found->name()));
    std::int64_t available = 0;
    if (!get_result(*found, name, type, requested_count, available, elements)) {
      available = found->get(name, type, requested_count, elements);
    }
    if (count) *count = available;
  });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return guarded([&] { finalize(*descriptor_of(descriptor)); });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t variant_pack) {
  return guarded([&] {
    require(handle != nullptr, CUDNN_STATUS_BAD_PARAM, "cudnnBackendExecute: a null handle");
    execute(*handle, *descriptor_of(plan), *descriptor_of(variant_pack));
  });
}
