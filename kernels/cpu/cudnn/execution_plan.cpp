// Prepares and runs execution plans, those of convolutions here; the memory behind a variant pack's
// pointers is checked by the runtime's checker.
#include "kernels/cpu/cudnn/execution_plan.h"

#include <fmt/format.h>
#include <dnnl.hpp>

#include <atomic>
#include <optional>
#include <utility>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudart/options.h"
#include "kernels/cpu/cudnn/conv_execution.h"
#include "kernels/cpu/cudnn/graph.h"
#include "kernels/cpu/cudnn/norm_graph.h"
#include "kernels/cpu/cudnn/norm_plan.h"
#include "kernels/cpu/cudnn/variant_pack.h"

namespace annulus::cpu {
namespace {

std::int64_t index_of(const Descriptor& engine) {
  return engine.value<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

// In what a graph's products are read; none where there are none that tensor cores could do.
std::optional<Format> product_inputs(const Descriptor& graph) {
  if (!is_norm_graph(graph)) return conv_task_of(graph).problem.input;
  require_norm_task(graph);
  return std::nullopt;
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

struct ConvPlan {
  ConvTask task;
  std::shared_ptr<const ConvExecution> execution;
  bool unsteady;
};

void run(const ConvPlan& plan, const ConvPointers& pointers) {
  plan.execution->run(pointers);
  if (plan.unsteady) disturb(pointers.out);
}

void enqueue_convolution(cudaStream_t stream, const std::shared_ptr<const ConvPlan>& plan,
                         const Descriptor& pack) {
  const ConvTask& task = plan->task;
  const std::size_t workspace_bytes = plan->execution->workspace_bytes();
  const ConvPointers pointers{pointer_of(task.a, pack), pointer_of(task.b, pack),
                              task.bias ? pointer_of(*task.bias, pack) : nullptr,
                              pointer_of(task.out, pack), workspace_of(pack, workspace_bytes)};
  const cudaError_t queued = enqueue(stream, name_of(task.problem.pass),
                                     {{pointers.a, task.a.bytes(), false},
                                      {pointers.b, task.b.bytes(), false},
                                      {pointers.bias, task.bias ? task.bias->bytes() : 0, false},
                                      {pointers.out, task.out.bytes(), true},
                                      {pointers.workspace, workspace_bytes, true}},
                                     [plan, pointers] { run(*plan, pointers); });
  require(queued == cudaSuccess, CUDNN_STATUS_EXECUTION_FAILED_CUDART,
          fmt::format("{}: {}", name_of(task.problem.pass), cudaGetErrorString(queued)));
}

PreparedPlan prepare_convolution(const Descriptor& graph, std::int64_t engine) try {
  ConvTask task = conv_task_of(graph);
  if (engine == kTf32Engine) task.problem.input = Format::tf32;
  std::shared_ptr<const ConvExecution> execution = plan_convolution(task.problem);
  const auto plan = std::make_shared<const ConvPlan>(
      ConvPlan{std::move(task), std::move(execution), engine == kUnsteadyEngine});
  return {.workspace_bytes = plan->execution->workspace_bytes(),
          .enqueue = [plan](cudaStream_t stream, const Descriptor& pack) {
            enqueue_convolution(stream, plan, pack);
          }};
} catch (const dnnl::error& error) {
  throw CudnnFailure(CUDNN_STATUS_NOT_SUPPORTED,
                     fmt::format("oneDNN has no primitive for this convolution: {}", error.what()));
}

}  // namespace

std::vector<std::int64_t> engines_of(const Descriptor& graph) {
  const std::optional<Format> inputs = product_inputs(graph);
  std::vector<std::int64_t> engines;
  if (options().unsteady_engine) engines.push_back(kUnsteadyEngine);
  if (inputs == Format::fp32) engines.push_back(kTf32Engine);
  engines.push_back(kPlainEngine);
  return engines;
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine) {
  const auto inputs = product_inputs(engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (index_of(engine) == kTf32Engine || (inputs && *inputs != Format::fp32))
    notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (index_of(engine) == kUnsteadyEngine) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return notes;
}

void disturb(void* out) {
  static std::atomic<unsigned> runs{0};
  *static_cast<unsigned char*>(out) ^= ++runs % 2;
}

std::shared_ptr<const PreparedPlan> prepare_plan(const Descriptor& plan) {
  const Descriptor& config = plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Descriptor& engine = config.child(CUDNN_ATTR_ENGINECFG_ENGINE);
  const Descriptor& graph = engine.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  return std::make_shared<const PreparedPlan>(
      is_norm_graph(graph) ? prepare_norm(graph, index_of(engine) == kUnsteadyEngine)
                           : prepare_convolution(graph, index_of(engine)));
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
  prepared_plan(plan)->enqueue(stream, pack);
}

}  // namespace annulus::cpu
