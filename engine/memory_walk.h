// Walks one step of a model over offsets, as the step will run over memory: what is allocated when,
// what may be overwritten, what is kept for the backward pass, when it is free again. Fills in the
// slices of a Plan's calls. Called by engine/plan alone.
#pragma once

#include <vector>

#include "engine/plan.h"

namespace annulus {

class MemoryWalk {
 public:
  // `element`: what activations and their gradients hold.
  MemoryWalk(const Model& model, int images, PlanKind kind, Element element,
             std::vector<Plan::Call>& calls);

  void forward();
  void backward();  // training plans only

  Slice input() const { return first_; }
  Slice logits() const { return last_; }
  std::size_t peak() const { return arena_.peak(); }  // bytes

 private:
  // A piece of memory that one or more tensors share (an in-place layer, the two gradients of an
  // Add).
  struct Block {
    Slice slice;
    int holders = 0;
  };

  int allocate(std::size_t bytes);
  std::size_t batch_bytes(const ImageShape& shape) const;  // of a tensor
  int share(int block);
  void release(int& block);
  void hand_on(int block, int tensor, Plan::Call& call);
  bool read_later(int node, int tensor) const;

  const Model& model_;
  std::size_t images_;
  Element element_;
  bool training_;
  std::vector<Plan::Call>& calls_;
  ActivationArena arena_;
  std::vector<Block> blocks_;
  std::vector<int> values_, gradients_;  // block of each tensor, or -1
  std::vector<int> kept_;                // block of what each node keeps, or -1
  std::vector<int> backward_readers_;    // of each tensor's value
  Slice first_, last_;
};

}  // namespace annulus
