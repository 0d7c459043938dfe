// The truth about overlap, of one epoch: the stamps of its latest steps, put beside the other
// ranks' at its end. Three numbers: overlap (the share of communication behind which this rank
// computed), exposed (communication behind which it did not: what the user pays) and interference
// (how much slower the layers ran than without communication). Time spent waiting for a slower rank
// is no communication and is told apart. Called by engine/trainer.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "comm/buckets.h"
#include "comm/control.h"
#include "engine/step_stamps.h"

namespace annulus {

// Means over steps and ranks; times in ms a step.
struct BucketReport {
  std::size_t bytes = 0;
  double ready = 0, started = 0, ended = 0;  // since the step's begin
  double waiting = 0;                        // for slower ranks, hidden behind layers or not
  double transfer = 0, exposed = 0;
};

struct OverlapReport {
  std::size_t steps = 0;  // that the means are over; 0: nothing was measured
  double overlap = 0;     // 0 to 1
  double exposed = 0;     // ms a step
  double waiting = 0;     // ms a step for slower ranks, behind which nothing was computed
  double step = 0;        // ms from a step's begin to its last update
  double compute = 0;     // ms a step in the last micro-batch's layers
  double interference =
      0;  // 0.1: the layers took 10 % longer than without communication; NaN: unknown
  std::vector<BucketReport> buckets;
};

class Profile {
 public:
  static constexpr std::size_t kKept = 128;  // steps
  static constexpr std::size_t kWarmUp = 3;  // first steps of a run, left out

  Profile(std::vector<Bucket> buckets, std::size_t ranks)
      : buckets_(std::move(buckets)), ranks_(ranks) {}

  void add(const StepTimes& times);
  void begin_epoch() { steps_.clear(); }
  void set_undisturbed(double compute_ms) { undisturbed_ = compute_ms; }

  const std::vector<Bucket>& buckets() const { return buckets_; }
  const std::deque<StepTimes>& steps() const { return steps_; }

  // Collective over all ranks; every rank gets the same report.
  OverlapReport report(ControlChannel& control) const;

 private:
  std::vector<std::vector<double>> transfers(ControlChannel& control) const;  // [steps, buckets]
  OverlapReport mine(const std::vector<std::vector<double>>& transfers) const;

  std::vector<Bucket> buckets_;
  std::size_t ranks_;
  double undisturbed_ = 0;  // ms a step in layers without communication; 0: not measured
  std::deque<StepTimes> steps_;
};

// Median over steps of the time in layers.
double compute_time(const std::deque<StepTimes>& steps);

// Bytes a second as nccl-tests count them: what a bus carries in a ring, whatever the ranks.
double bus_bandwidth(const BucketReport& bucket, std::size_t ranks);

// The table at the end of a run, a line a bucket.
std::string bucket_table(const OverlapReport& report, std::size_t ranks);

}  // namespace annulus
