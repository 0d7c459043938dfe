// The arithmetic of overlap, on plain intervals of time. With C the union of a rank's compute
// intervals and M the union of its communication intervals: overlap = |C n M| / |M|, exposed =
// |M \ C|, what the user pays (HolisticTraceAnalysis, "communication computation overlap").
// Invariant: time that several intervals share counts once. Called by engine/profile.
#pragma once

#include <vector>

namespace annulus {

// Half-open, in any one unit of time; empty where end <= begin.
struct Interval {
  double begin = 0, end = 0;

  double length() const { return end > begin ? end - begin : 0; }
};

// Sorted, disjoint, without empty ones; touching intervals are joined.
std::vector<Interval> union_of(std::vector<Interval> intervals);

double total_length(const std::vector<Interval>& disjoint);

struct Overlap {
  double compute = 0, communication = 0, overlapped = 0;

  double exposed() const { return communication - overlapped; }
  double ratio() const { return communication > 0 ? overlapped / communication : 1; }
  Overlap& operator+=(const Overlap& other);
};

Overlap measure_overlap(const std::vector<Interval>& compute,
                        const std::vector<Interval>& communication);

// How long a collective moved data: every rank is in it until the last one has come, and the last
// one waits for nobody, so the shortest stay is the transfer; what a rank stayed longer, it waited.
double transfer_time(const std::vector<double>& stay_of_each_rank);

}  // namespace annulus
