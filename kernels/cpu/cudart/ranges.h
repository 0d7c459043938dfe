// Who touched which bytes of one allocation last: a map of byte ranges, each with its last write
// and the reads since. The checker asks it for accesses that a new one is not ordered behind.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "kernels/cpu/cudart/clock.h"

namespace annulus::cpu {

// An earlier access that conflicts with a new one, and where.
struct Conflict {
  Stamp earlier;
  bool earlier_writes;
  std::size_t begin, end;  // bytes of the allocation
};

class AccessHistory {
 public:
  // Enters an access to [begin, end) by `stamp`, whose stream knows `clock`. Returns the first
  // conflict, if any.
  std::optional<Conflict> enter(std::size_t begin, std::size_t end, bool write, const Stamp& stamp,
                                const VectorClock& clock);
  // The first access anywhere that `clock` is not behind.
  std::optional<Conflict> unordered(const VectorClock& clock) const;

 private:
  struct Range {
    std::size_t end;
    Stamp write;
    std::vector<Stamp> reads;  // one per slot
  };

  void split(std::size_t at);
  static std::optional<Conflict> conflict(std::size_t begin, const Range& range, bool write,
                                          const VectorClock& clock);

  std::map<std::size_t, Range> ranges_;  // by begin; untouched bytes have none
};

}  // namespace annulus::cpu
