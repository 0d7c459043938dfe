// See overlap.h.
#include "comm/overlap.h"

#include <algorithm>

namespace annulus {

std::vector<Interval> union_of(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.length() == 0; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::vector<Interval> merged;
  for (const Interval& next : intervals) {
    if (merged.empty() || next.begin > merged.back().end)
      merged.push_back(next);
    else
      merged.back().end = std::max(merged.back().end, next.end);
  }
  return merged;
}

double total_length(const std::vector<Interval>& disjoint) {
  double total = 0;
  for (const Interval& interval : disjoint) total += interval.length();
  return total;
}

Overlap& Overlap::operator+=(const Overlap& other) {
  compute += other.compute;
  communication += other.communication;
  overlapped += other.overlapped;
  return *this;
}

Overlap measure_overlap(const std::vector<Interval>& compute,
                        const std::vector<Interval>& communication) {
  const std::vector<Interval> c = union_of(compute), m = union_of(communication);
  Overlap result{total_length(c), total_length(m), 0};
  for (std::size_t i = 0, j = 0; i < c.size() && j < m.size();) {
    const Interval both{std::max(c[i].begin, m[j].begin), std::min(c[i].end, m[j].end)};
    result.overlapped += both.length();
    c[i].end < m[j].end ? ++i : ++j;
  }
  return result;
}

double transfer_time(const std::vector<double>& stay_of_each_rank) {
  return *std::min_element(stay_of_each_rank.begin(), stay_of_each_rank.end());
}

}  // namespace annulus
