// Reference counts on blocks of offsets; see memory_walk.h.
#include "engine/memory_walk.h"

namespace annulus {

MemoryWalk::MemoryWalk(const Model& model, int images, PlanKind kind, Element element,
                       std::vector<Plan::Call>& calls)
    : model_(model),
      images_(static_cast<std::size_t>(images)),
      element_(element),
      training_(kind == PlanKind::training),
      calls_(calls),
      values_(model.nodes().size() + 1, -1),
      gradients_(model.nodes().size() + 1, -1),
      kept_(model.nodes().size(), -1),
      backward_readers_(model.nodes().size() + 1, 0) {
  if (!training_) return;
  for (const Node& node : model.nodes())
    if (node.layer->reads_input_backward()) ++backward_readers_[node.input];
}

int MemoryWalk::allocate(std::size_t bytes) {
  blocks_.push_back({arena_.allocate(bytes), 1});
  return static_cast<int>(blocks_.size()) - 1;
}

std::size_t MemoryWalk::batch_bytes(const ImageShape& shape) const {
  return images_ * shape.size() * bytes_of(element_);
}

int MemoryWalk::share(int block) {
  ++blocks_[block].holders;
  return block;
}

void MemoryWalk::release(int& block) {
  if (block < 0) return;
  if (--blocks_[block].holders == 0) arena_.release(blocks_[block].slice);
  block = -1;
}

// Does a node after `node` read `tensor` in the forward pass?
bool MemoryWalk::read_later(int node, int tensor) const {
  const auto& nodes = model_.nodes();
  for (std::size_t i = static_cast<std::size_t>(node) + 1; i < nodes.size(); ++i)
    if (nodes[i].input == tensor || nodes[i].other == tensor) return true;
  return false;
}

// Makes `block` the gradient of `tensor`, added to what another reader of it left there.
void MemoryWalk::hand_on(int block, int tensor, Plan::Call& call) {
  int& earlier = gradients_[tensor];
  if (earlier >= 0) {
    int sum = blocks_[block].holders == 1 ? share(block) : allocate(blocks_[block].slice.size);
    call.sums.push_back({blocks_[block].slice, blocks_[earlier].slice, blocks_[sum].slice});
    release(earlier);
    release(block);
    block = sum;
  }
  earlier = block;
}

void MemoryWalk::forward() {
  values_[0] = allocate(batch_bytes(model_.input()));
  first_ = blocks_[values_[0]].slice;
  const int count = static_cast<int>(model_.nodes().size());
  for (int i = 0; i < count; ++i) {
    const Node& node = model_.nodes()[i];
    const Layer& layer = *node.layer;
    Plan::Call& call = calls_[i];
    const auto last_reader = [&](int tensor) {
      return !read_later(i, tensor) && backward_readers_[tensor] == 0;
    };

    const bool overwrite =
        layer.in_place() && last_reader(node.input) && blocks_[values_[node.input]].holders == 1;
    values_[i + 1] = overwrite ? share(values_[node.input]) : allocate(batch_bytes(layer.out()));
    const std::size_t kept = layer.kept_bytes(static_cast<int>(images_));
    if (kept) kept_[i] = allocate(kept);

    call.x = blocks_[values_[node.input]].slice;
    if (node.other >= 0) call.other = blocks_[values_[node.other]].slice;
    call.y = blocks_[values_[i + 1]].slice;
    if (kept) call.kept = blocks_[kept_[i]].slice;

    if (last_reader(node.input)) release(values_[node.input]);
    if (node.other >= 0 && last_reader(node.other)) release(values_[node.other]);
    if (!training_) release(kept_[i]);
  }
  last_ = blocks_[values_[count]].slice;
}

void MemoryWalk::backward() {
  const int count = static_cast<int>(model_.nodes().size());
  gradients_[count] = share(values_[count]);  // the loss wrote it over the logits
  for (int i = count - 1; i >= 0; --i) {
    const Node& node = model_.nodes()[i];
    const Layer& layer = *node.layer;
    Plan::Call& call = calls_[i];
    int& dy = gradients_[i + 1];
    call.dy = blocks_[dy].slice;

    if (layer.passes_gradient_through()) {
      for (const int input : {node.input, node.other}) hand_on(share(dy), input, call);
    } else if (node.input != 0 || layer.always_writes_dx()) {
      const int dx = layer.in_place() && blocks_[dy].holders == 1 && gradients_[node.input] < 0
                         ? share(dy)
                         : allocate(batch_bytes(layer.in()));
      call.dx = blocks_[dx].slice;
      hand_on(dx, node.input, call);
    }
    release(dy);
    release(values_[i + 1]);
    release(kept_[i]);
    if (layer.reads_input_backward() && --backward_readers_[node.input] == 0)
      release(values_[node.input]);
  }
}

}  // namespace annulus
