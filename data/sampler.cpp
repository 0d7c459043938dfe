// The order of an epoch and its cut into steps and ranks; see sampler.h for the rules.
#include "data/sampler.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "kernels/philox.h"
#include "kernels/step_state.h"

namespace annulus {
namespace {

// The numbers of one epoch's shuffle, four to a Philox block.
class ShuffleNumbers {
 public:
  ShuffleNumbers(std::uint64_t seed, std::uint32_t epoch) : seed_(seed), epoch_(epoch) {}

  std::uint32_t below(std::uint32_t bound) {
    if (used_ == 4) {
      const Uint4 block =
          philox(seed_, static_cast<std::uint32_t>(Purpose::shuffle), epoch_, 0, next_block_++);
      words_ = {block.x, block.y, block.z, block.w};
      used_ = 0;
    }
    return uniform_below(words_[used_++], bound);
  }

 private:
  std::uint64_t seed_;
  std::uint32_t epoch_;
  std::uint32_t next_block_ = 0;
  std::array<std::uint32_t, 4> words_{};
  int used_ = 4;
};

}  // namespace

std::vector<std::uint32_t> epoch_order(std::size_t samples, std::uint64_t seed,
                                       std::uint32_t epoch) {
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0u);
  ShuffleNumbers numbers(seed, epoch);
  for (std::size_t last = samples; last > 1; --last)
    std::swap(order[last - 1], order[numbers.below(static_cast<std::uint32_t>(last))]);
  return order;
}

std::size_t Batches::steps() const {
  const std::size_t left = samples - first, full = left / global_batch();
  const bool has_tail = left % global_batch() != 0;
  return full + (has_tail && !drop_last ? 1 : 0);
}

std::size_t Batches::count(std::size_t step) const {
  return std::min(global_batch(), samples - first_sample(step));
}

// A full step and a short one follow one rule: `each` samples a rank, the first ranks one more.
RankSlice Batches::slice(std::size_t step, int rank) const {
  const std::uint32_t total = static_cast<std::uint32_t>(count(step));
  const std::uint32_t each = total / ranks, extra = total % ranks, r = rank;
  return {.first_position = r * each + std::min(r, extra), .count = each + (r < extra ? 1 : 0)};
}

}  // namespace annulus
