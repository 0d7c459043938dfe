// cuDNN's entry points on the CPU device: handles, backend descriptors, heuristics, execution.
// Statuses are those of the real library 9.19 where it gives one without a GPU.
#include <cudnn.h>
#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/cudnn/descriptor.h"
#include "kernels/cpu/cudnn/execution_plan.h"
#include "kernels/cpu/cudnn/graph.h"
#include "kernels/cpu/cudnn/norm_graph.h"
#include "kernels/cpu/cudnn/status.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace annulus::cpu {
namespace {

// An index that no engine of the graph has is refused.
void check_engine(const Descriptor& engine) {
  const auto index = engine.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  const auto engines = engines_of(engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  require(std::ranges::count(engines, index) > 0, CUDNN_STATUS_NOT_SUPPORTED,
          fmt::format("engine: the CPU device has none with index {} for this graph", index));
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
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      check_norm_operation(descriptor);
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      check_operation_graph(descriptor);
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      require_supported_graph(descriptor.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      check_engine(descriptor);
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      descriptor.product = prepare_plan(descriptor);
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

// Engine `index` as every heuristic mode proposes it: a finalized configuration in `config`.
void propose_engine(const Descriptor& heuristics, std::int64_t index, Descriptor& config) {
  require(config.type() == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
          CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
          "engine heuristics: results go into engine configuration descriptors");
  auto engine = std::make_shared<Descriptor>(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  DescriptorHandle graph{heuristics.children(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).front()};
  const cudnnBackendDescriptor_t graph_handle = &graph;
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
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      require(descriptor.type() == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_STATUS_BAD_PARAM,
              "only engine heuristics have results");
      require(type == CUDNN_TYPE_BACKEND_DESCRIPTOR, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
              "heuristics' results are descriptors");
      const auto engines = engines_of(descriptor.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
      count = std::int64_t(engines.size());
      for (std::int64_t i = 0; elements && i < std::min(requested, count); ++i)
        propose_engine(descriptor, engines[std::size_t(i)],
                       *descriptor_of(static_cast<cudnnBackendDescriptor_t*>(elements)[i]));
      return true;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      require(type == CUDNN_TYPE_BACKEND_DESCRIPTOR && elements && requested == 1,
              CUDNN_STATUS_BAD_PARAM, "a configuration's engine goes into one descriptor");
      descriptor_of(*static_cast<cudnnBackendDescriptor_t*>(elements));
      count = 1;
      (*static_cast<DescriptorHandle**>(elements))->descriptor = descriptor.children(name).at(0);
      return true;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      require(type == CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
              "an engine's notes are of CUDNN_TYPE_NUMERICAL_NOTE");
      const auto notes = notes_of(descriptor);
      count = std::int64_t(notes.size());
      if (elements)
        std::copy_n(notes.begin(), std::min(requested, count),
                    static_cast<cudnnBackendNumericalNote_t*>(elements));
      return true;
    }
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return give(std::ranges::max(engines_of(descriptor)) + 1);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: {
      const PreparedPlan* plan = prepared_plan(descriptor);
      require(plan != nullptr, CUDNN_STATUS_BAD_PARAM, "only execution plans have a workspace");
      return give(std::int64_t(plan->workspace_bytes));
    }
    default:
      return false;
  }
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
    execute_plan(handle->stream, *descriptor_of(plan), *descriptor_of(variant_pack));
  });
}
