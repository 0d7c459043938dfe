// Which samples a step sees: the order of an epoch, and how the ordered list of an epoch is cut
// into steps and ranks. Invariant: each sample occurs at most once an epoch (exactly once unless
// the tail is dropped), in an order that depends on the seed and the epoch alone; every rank does
// the same number of steps. Called by engine/trainer and engine/evaluate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace annulus {

// A random permutation of 0 … samples-1: Fisher-Yates over Philox (Purpose::shuffle), samples <
// 2^32.
std::vector<std::uint32_t> epoch_order(std::size_t samples, std::uint64_t seed,
                                       std::uint32_t epoch);

// One rank's part of one step's global batch. A rank may have no samples in a short last step.
struct RankSlice {
  std::uint32_t first_position;  // of the rank's first sample in the step's global batch
  std::uint32_t count;
};

// How an epoch is cut: step s takes the positions [s*G, (s+1)*G) of the epoch's order, G = ranks *
// batch_per_rank; within it rank r takes [r*B, (r+1)*B). A short last step is shared so that ranks
// differ by at most one sample, the first ranks having more; with drop_last it is left out. `ranks`
// is the world size, virtual ranks included. An epoch that is resumed on another world size begins
// at its sample `first`, and the rest is cut by the same rule.
struct Batches {
  std::size_t samples;
  int ranks;
  int batch_per_rank;
  bool drop_last = false;
  std::size_t first = 0;

  std::size_t global_batch() const { return std::size_t(ranks) * batch_per_rank; }
  std::size_t steps() const;  // per epoch, the same on every rank
  std::size_t first_sample(std::size_t step) const { return first + step * global_batch(); }
  std::size_t count(std::size_t step) const;  // samples of all ranks in that step
  RankSlice slice(std::size_t step, int rank) const;
};

}  // namespace annulus
