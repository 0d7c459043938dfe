// Vector clocks: which call on which stream is ordered behind which (Fidge 1988, Mattern 1988).
// A stream, and the host, has a slot and counts its calls; a clock holds, per slot, the last call
// it knows to be behind it. Read and joined by the checker, under the runtime's mutex.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace annulus::cpu {

// One call: the `count`-th of the stream with this slot.
struct Stamp {
  std::uint32_t slot = 0;
  std::uint32_t captured_on = 0;  // of a graph's call: the slot of the stream it was captured on
  std::uint64_t count = 0;
  const char* call = nullptr;  // null: no call yet
};

class VectorClock {
 public:
  void join(const VectorClock& other) {
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i)
      counts_[i] = std::max(counts_[i], other.counts_[i]);
  }

  Stamp tick(std::uint32_t slot, const char* call, std::uint32_t captured_on = 0) {
    if (counts_.size() <= slot) counts_.resize(slot + 1);
    return {.slot = slot, .captured_on = captured_on, .count = ++counts_[slot], .call = call};
  }

  // For a slot's next owner: its calls count on from the last one's.
  std::uint64_t count_of(std::uint32_t slot) const {
    return slot < counts_.size() ? counts_[slot] : 0;
  }
  void start(std::uint32_t slot, std::uint64_t count) {
    counts_.resize(slot + 1);
    counts_[slot] = count;
  }

  bool is_behind(const Stamp& stamp) const {
    return stamp.call == nullptr ||
           (stamp.slot < counts_.size() && counts_[stamp.slot] >= stamp.count);
  }

 private:
  std::vector<std::uint64_t> counts_;
};

}  // namespace annulus::cpu
