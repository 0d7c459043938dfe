// Prepares and runs execution plans; the pointers of a variant pack are checked here, the memory
// behind them by the runtime's checker.
#include "kernels/cpu/cudnn/execution_plan.h"

#include <fmt/format.h>
#include <dnnl.hpp>

#include <algorithm>
#include <utility>

#include "kernels/cpu/cudart/device.h"

namespace annulus::cpu {
namespace {

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

}  // namespace

std::shared_ptr<const PreparedPlan> prepare_plan(const Descriptor& plan) {
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
  return std::make_shared<const PreparedPlan>(std::move(prepared));
}

const PreparedPlan* prepared_plan(const Descriptor& descriptor) {
  return descriptor.type() == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
             ? static_cast<const PreparedPlan*>(descriptor.product.get())
             : nullptr;
}

void execute_plan(cudaStream_t stream, const Descriptor& plan, const Descriptor& pack) {
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
  const cudaError_t queued = enqueue(stream, name_of(task.problem.pass),
                                     {{pointers.a, task.a.bytes(), false},
                                      {pointers.b, task.b.bytes(), false},
                                      {pointers.bias, task.bias ? task.bias->bytes() : 0, false},
                                      {pointers.out, task.out.bytes(), true},
                                      {pointers.workspace, workspace_bytes, true}},
                                     [prepared, pointers] { prepared->execution->run(pointers); });
  require(queued == cudaSuccess, CUDNN_STATUS_EXECUTION_FAILED_CUDART,
          fmt::format("{}: {}", name_of(task.problem.pass), cudaGetErrorString(queued)));
}

}  // namespace annulus::cpu
