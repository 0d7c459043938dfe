// Spreads the weight decay over the elements once, then calls kernels/optimizer.
#include "engine/optimizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/optimizer.h"

namespace annulus {
namespace {

Buffer<float> zeros(std::size_t count) { return Buffer<float>(std::vector<float>(count, 0.f)); }

}  // namespace

OptimizerKind parse_optimizer(const std::string& name) {
  if (name == "sgd") return OptimizerKind::sgd;
  if (name == "adam") return OptimizerKind::adam;
  if (name == "adamw") return OptimizerKind::adamw;
  throw UserError(
      ExitCode::usage,
      fmt::format("--optimizer {}: there is no such optimizer; one of: sgd, adam, adamw", name));
}

Optimizer::Optimizer(const Model& model, const Recipe& recipe)
    : kind_(parse_optimizer(recipe.optimizer)), momentum_(static_cast<float>(recipe.momentum)) {
  const std::size_t count = model.layout().parameters;
  std::vector<float> decay(count, 0.f);
  for (const Parameter* p : model.parameters())
    if (p->decayed)
      std::fill_n(decay.begin() + static_cast<std::ptrdiff_t>(p->slice.offset), p->count(),
                  static_cast<float>(recipe.weight_decay));
  decay_ = Buffer<float>(decay);
  first_ = zeros(count);
  if (kind_ != OptimizerKind::sgd) second_ = zeros(count);
}

void Optimizer::update(cudaStream_t stream, Span<const StepState> state, Slice slice,
                       Span<const std::uint32_t> diverged, Span<float> parameters,
                       Span<const float> gradients) {
  const auto of = [&](Span<float> whole) { return whole.subspan(slice.offset, slice.size); };
  if (kind_ == OptimizerKind::sgd) {
    sgd_update(stream, state, diverged, momentum_, true, of(parameters), of(first_.span()),
               gradients.subspan(slice.offset, slice.size), of(decay_.span()));
    return;
  }
  const AdamOptions options{.decoupled = kind_ == OptimizerKind::adamw};
  adam_update(stream, state, diverged, options, of(parameters), of(first_.span()),
              of(second_.span()), gradients.subspan(slice.offset, slice.size), of(decay_.span()));
}

std::vector<Buffer<float>*> Optimizer::moments() {
  if (kind_ == OptimizerKind::sgd) return {&first_};
  return {&first_, &second_};
}

}  // namespace annulus
