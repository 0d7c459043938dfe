// Ranges are split where an access begins and ends; a write makes one range of all it covers, so
// the map stays as fine as the accesses in use.
#include "kernels/cpu/cudart/ranges.h"

#include <algorithm>

namespace annulus::cpu {

std::optional<Conflict> AccessHistory::conflict(std::size_t begin, const Range& range, bool write,
                                                const VectorClock& clock) {
  if (!clock.is_behind(range.write)) return Conflict{range.write, true, begin, range.end};
  if (!write) return std::nullopt;
  for (const Stamp& read : range.reads) {
    if (!clock.is_behind(read)) return Conflict{read, false, begin, range.end};
  }
  return std::nullopt;
}

// Makes `at` a boundary between ranges.
void AccessHistory::split(std::size_t at) {
  auto it = ranges_.upper_bound(at);
  if (it == ranges_.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Range tail = it->second;
  it->second.end = at;
  ranges_.emplace(at, std::move(tail));
}

std::optional<Conflict> AccessHistory::enter(std::size_t begin, std::size_t end, bool write,
                                             const Stamp& stamp, const VectorClock& clock) {
  split(begin);
  split(end);
  std::optional<Conflict> found;
  const auto first = ranges_.lower_bound(begin);
  const auto last = ranges_.lower_bound(end);
  for (auto it = first; it != last && !found; ++it)
    found = conflict(it->first, it->second, write, clock);

  if (write) {
    ranges_.erase(first, last);
    ranges_.emplace(begin, Range{end, stamp, {}});
    return found;
  }
  std::size_t covered = begin;
  for (auto it = first; it != last; ++it) {
    if (covered < it->first) ranges_.emplace(covered, Range{it->first, {}, {stamp}});
    auto& reads = it->second.reads;
    const auto same_slot = std::find_if(reads.begin(), reads.end(),
                                        [&](const Stamp& read) { return read.slot == stamp.slot; });
    if (same_slot == reads.end()) {
      reads.push_back(stamp);
    } else {
      *same_slot = stamp;
    }
    covered = it->second.end;
  }
  if (covered < end) ranges_.emplace(covered, Range{end, {}, {stamp}});
  return found;
}

std::optional<Conflict> AccessHistory::unordered(const VectorClock& clock) const {
  for (const auto& [begin, range] : ranges_) {
    if (auto found = conflict(begin, range, true, clock)) return found;
  }
  return std::nullopt;
}

}  // namespace annulus::cpu
