// Makes the layers' plans, walks the memory once, and then only calls layers in order.
#include "engine/plan.h"

#include <algorithm>

#include "engine/memory_walk.h"
#include "engine/step_stamps.h"
#include "kernels/activation.h"

namespace annulus {
namespace {

// Stamps a layer's begin and end, if the pass is measured.
class Stamped {
 public:
  Stamped(const Pass& pass, const Layer& layer) : pass_(pass) {
    if (pass.stamps) pass.stamps->call_begins(layer.name(), pass.device.compute);
  }
  ~Stamped() {
    if (pass_.stamps) pass_.stamps->call_ends(pass_.device.compute);
  }

 private:
  const Pass& pass_;
};

}  // namespace

Plan::Plan(const Model& model, const Device& device, int images, PlanKind kind,
           const Precision& precision)
    : images_(images), precision_(precision) {
  const bool training = kind == PlanKind::training;
  for (const Node& node : model.nodes()) {
    Call& call = calls_.emplace_back();
    call.layer = node.layer.get();
    call.layer_plan = node.layer->plan(device, {.images = images,
                                                .precision = precision,
                                                .training = training,
                                                .needs_dx = training && node.input != 0});
    call.gradients_finished = model.gradients_finished(calls_.size() - 1);
    workspace_bytes_ =
        std::max(workspace_bytes_, node.layer->workspace_bytes(call.layer_plan.get(), images));
  }
  MemoryWalk walk(model, images, kind, precision.element, calls_);
  walk.forward();
  if (training) walk.backward();
  input_slice_ = walk.input();
  logits_slice_ = walk.logits();
  activation_bytes_ = walk.peak();
}

AnyOutput Plan::at(const Slice& slice) const {
  if (slice.size == 0) return {};
  return {activations_.data + slice.offset, slice.size / precision_.bytes(), precision_.element};
}

void Plan::bind(Span<std::byte> activations, Span<std::byte> workspace) {
  activations_ = activations;
  input_ = at(input_slice_);
  logits_ = at(logits_slice_);
  for (Call& call : calls_)
    call.bound = {.images = images_,
                  .precision = precision_,
                  .plan = call.layer_plan.get(),
                  .x = at(call.x),
                  .other = at(call.other),
                  .y = at(call.y),
                  .dy = at(call.dy),
                  .dx = at(call.dx),
                  .kept = activations.subspan(call.kept.offset, call.kept.size),
                  .workspace = workspace};
}

void Plan::forward(const Pass& pass) const {
  for (const Call& call : calls_) {
    const Stamped stamped(pass, *call.layer);
    call.layer->forward(pass, call.bound);
  }
}

void Plan::inference(const Pass& pass) const {
  for (const Call& call : calls_) call.layer->inference(pass, call.bound);
}

void Plan::backward(const Pass& pass, const Finished& finished) const {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    backward_call(pass, *call);
    if (finished) finished(call->gradients_finished);
  }
}

void Plan::backward_call(const Pass& pass, const Call& call) const {
  const Stamped stamped(pass, *call.layer);
  call.layer->backward(pass, call.bound);
  for (const Sum& sum : call.sums)
    with_element(precision_.element, [&]<class T>() {
      add(pass.stream(), at(sum.a).as<const T>(), at(sum.b).as<const T>(), at(sum.out).as<T>());
    });
}

}  // namespace annulus
