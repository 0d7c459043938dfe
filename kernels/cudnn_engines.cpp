// Asks the heuristics, and reads each engine's notes.
#include "kernels/cudnn_engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/check.h"

namespace annulus::cudnn_graph {
namespace {

// More than any list that cuDNN 9 was seen to return.
constexpr std::int64_t kMostProposals = 64;
constexpr std::array kModes = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};

// What `make` returns, or nothing and cuDNN's words in `refusal`: heuristics may know no engine, or
// propose engines that cannot be built.
template <class Make>
auto attempt(Make&& make, std::string& refusal) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const DeviceError& error) {
    refusal = error.what();
    return std::nullopt;
  }
}

// The engine configurations that one heuristic mode proposes for a graph, best first; on the
// described device, if there is one, else on the graph's own.
std::vector<Descriptor> proposals(const Descriptor& graph, cudnnBackendHeurMode_t mode,
                                  const Descriptor* device) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (device) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristics.finalize();
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < kMostProposals; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(configs.back().get());
  }
  std::int64_t found = 0;
  CUDNN_CHECK(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostProposals, &found,
                                       handles.data()));
  configs.erase(configs.begin() + std::min(found, kMostProposals), configs.end());
  return configs;
}

Engine engine_of(const Descriptor& config) {
  const Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  std::int64_t count = 0;
  CUDNN_CHECK(cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &handle));
  Engine facts;
  CUDNN_CHECK(cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                       &count, &facts.index));
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  CUDNN_CHECK(cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                       CUDNN_TYPE_NUMERICAL_NOTE, std::int64_t(notes.size()),
                                       &count, notes.data()));
  const auto noted = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.begin() + count, note) != notes.begin() + count;
  };
  facts.deterministic = !noted(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  facts.tensor_cores = noted(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  facts.rounds_inputs = noted(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  return facts;
}

// Calls visit(config, engine) for what the rule allows, best first, until it returns true.
template <class Visit>
void for_each_proposal(const Descriptor& graph, const Descriptor* device, const EngineRule& rule,
                       std::string& refusal, Visit&& visit) {
  for (cudnnBackendHeurMode_t mode : kModes) {
    const auto configs = attempt([&] { return proposals(graph, mode, device); }, refusal);
    for (const Descriptor& config : configs.value_or(std::vector<Descriptor>{})) {
      const Engine engine = engine_of(config);
      if (!rule.allows(engine))
        refusal = "the engines that are left round more, or give other bits from run to run";
      else if (visit(config, engine))
        return;
    }
  }
}

Descriptor plan_of(cudnnHandle_t handle, const Descriptor& config) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  return plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle)
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
      .finalize();
}

std::size_t workspace_on(const Descriptor& device, const Descriptor& config) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
      .set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device)
      .finalize();
  return std::size_t(workspace_bytes(plan));
}

constexpr const char* kNoProposal = "heuristics propose no engine";

}  // namespace

Descriptor plan(cudnnHandle_t handle, const std::vector<Descriptor>& operations,
                const EngineRule& rule) {
  const Descriptor graph = operation_graph(operations, handle);
  std::string refusal = kNoProposal;
  std::optional<Descriptor> plan;
  for_each_proposal(graph, nullptr, rule, refusal, [&](const Descriptor& config, const Engine&) {
    plan = attempt([&] { return plan_of(handle, config); }, refusal);
    return plan.has_value();
  });
  if (!plan) throw DeviceError(fmt::format("cuDNN has no engine for this graph: {}", refusal));
  return *plan;
}

EngineList engines_for(const Descriptor& device, const std::vector<Descriptor>& operations,
                       const EngineRule& rule) {
  EngineList list;
  std::string refusal = kNoProposal;
  const auto graph = attempt([&] { return operation_graph(operations); }, refusal);
  if (graph)
    for_each_proposal(
        *graph, &device, rule, refusal, [&](const Descriptor& config, const Engine& engine) {
          const bool known = std::ranges::count(list.engines, engine.index, &Engine::index) > 0;
          if (!known) list.engines.push_back(engine);
          if (!known && !list.workspace_bytes)
            list.workspace_bytes = attempt([&] { return workspace_on(device, config); }, refusal);
          return false;
        });
  if (!list.workspace_bytes) list.refusal = refusal;
  return list;
}

}  // namespace annulus::cudnn_graph
