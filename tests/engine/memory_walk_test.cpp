// The activation arena never hands out memory twice, and the walk of a whole model never lets two
// live tensors overlap.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/memory_walk.h"
#include "engine/model/models.h"
#include "kernels/philox.h"

namespace annulus {
namespace {

bool overlap(const Slice& a, const Slice& b) {
  return a.size && b.size && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

TEST(ActivationArena, LiveBlocksNeverOverlapAndFreedOnesAreUsedAgain) {
  ActivationArena arena;
  std::vector<Slice> live;
  std::size_t most = 0, held = 0;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    const Uint4 bits = philox(1, 0, 0, 0, i);
    if (live.size() > 12 || (bits.x & 1 && !live.empty())) {
      const std::size_t victim = bits.y % live.size();
      held -= align_up(live[victim].size, kAlignBytes);
      arena.release(live[victim]);
      live.erase(live.begin() + std::ptrdiff_t(victim));
      continue;
    }
    const Slice slice = arena.allocate(1 + bits.z % 2000);
    EXPECT_EQ(slice.offset % kAlignBytes, 0u);
    for (const Slice& other : live) ASSERT_FALSE(overlap(slice, other));
    live.push_back(slice);
    held += align_up(slice.size, kAlignBytes);
    most = std::max(most, held);
  }
  EXPECT_GE(arena.peak(), most);
  EXPECT_LE(arena.peak(), 2 * most);
  for (const Slice& slice : live) arena.release(slice);
  EXPECT_EQ(arena.allocate(1).offset, 0u) << "everything was freed, so the arena begins again";
}

// What a call reads must not be where it writes, unless the layer works in place.
void expect_calls_sound(const Model& model, PlanKind kind, Element element) {
  std::vector<Plan::Call> calls(model.nodes().size());
  MemoryWalk walk(model, 4, kind, element, calls);
  walk.forward();
  if (kind == PlanKind::training) walk.backward();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Layer& layer = *model.nodes()[i].layer;
    const Plan::Call& call = calls[i];
    const bool same = call.x.offset == call.y.offset;
    EXPECT_TRUE(!overlap(call.x, call.y) || (layer.in_place() && same)) << layer.name();
    EXPECT_FALSE(overlap(call.kept, call.y)) << layer.name();
    EXPECT_TRUE(!overlap(call.dy, call.dx) || layer.in_place()) << layer.name();
    if (layer.reads_input_backward()) {
      EXPECT_FALSE(overlap(call.x, call.dx)) << layer.name();
      EXPECT_FALSE(overlap(call.x, call.dy)) << layer.name();
    }
  }
  if (kind == PlanKind::inference) return;
  // A tensor kept for the backward pass is not written by any later forward call.
  for (std::size_t i = 0; i < calls.size(); ++i)
    for (std::size_t later = i + 1; later < calls.size(); ++later)
      if (model.nodes()[i].layer->reads_input_backward()) {
        EXPECT_FALSE(overlap(calls[i].x, calls[later].y))
            << model.nodes()[later].layer->name() << " overwrites the input of "
            << model.nodes()[i].layer->name();
      }
}

TEST(MemoryWalk, CallsOfTheModelsAreSound) {
  for (const ModelEntry& entry : models()) {
    const Model model = entry.build({});
    for (const Element element : {Element::fp32, Element::bf16}) {
      expect_calls_sound(model, PlanKind::training, element);
      expect_calls_sound(model, PlanKind::inference, element);
    }
  }
}

TEST(MemoryWalk, InferenceNeedsLessThanTraining) {
  const Model model = seed_cnn({});
  std::vector<Plan::Call> calls(model.nodes().size());
  MemoryWalk training(model, 64, PlanKind::training, Element::fp32, calls);
  training.forward();
  training.backward();
  MemoryWalk inference(model, 64, PlanKind::inference, Element::fp32, calls);
  inference.forward();
  EXPECT_LT(2 * inference.peak(), training.peak());
}

std::size_t training_peak(Element element) {
  const Model model = seed_cnn({});
  std::vector<Plan::Call> calls(model.nodes().size());
  MemoryWalk walk(model, 64, PlanKind::training, element, calls);
  walk.forward();
  walk.backward();
  return walk.peak();
}

TEST(MemoryWalk, HalvesNeedHalfOfIt) {
  const std::size_t halves = training_peak(Element::fp16), floats = training_peak(Element::fp32);
  EXPECT_LT(halves, floats * 51 / 100);
}

}  // namespace
}  // namespace annulus
