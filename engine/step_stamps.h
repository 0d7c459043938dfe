// The stamps of one step on the device's own clock: around every layer's call, when a bucket's
// gradients are ready, when its all-reduce starts and ends, around its update. Invariant: all
// events are made in the constructor; stamping allocates nothing and waits for nothing. The
// bucket's events are also what the streams wait on. Called by engine/step and engine/plan; read by
// engine/profile.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "comm/overlap.h"
#include "kernels/cuda.h"

namespace annulus {

// Milliseconds since the step's begin.
struct BucketTimes {
  double ready = 0, started = 0, ended = 0;
  Interval update;
};
struct CallTimes {
  std::string_view name;  // the layer's
  Interval time;
};
struct StepTimes {
  std::size_t update = 0;
  double begin = 0;              // ms since the begin of the first step that was stamped
  std::vector<CallTimes> calls;  // of the last micro-batch, forward and backward
  std::vector<BucketTimes> buckets;

  double end() const { return buckets.empty() ? 0 : buckets.back().update.end; }
};

class StepStamps {
 public:
  StepStamps(std::size_t calls, std::size_t buckets);

  void begin(const Stream& compute);
  void call_begins(std::string_view name, const Stream& compute);
  void call_ends(const Stream& compute);

  // A bucket's way, in this order.
  void ready(std::size_t bucket, const Stream& compute) { buckets_[bucket].ready.record(compute); }
  void started(std::size_t bucket, const Stream& communication);  // after it has waited for ready
  void ended(std::size_t bucket, const Stream& communication);
  void update_begins(std::size_t bucket, const Stream& update);  // after it has waited for ended
  void update_ends(std::size_t bucket, const Stream& update);

  const Event& done() const { return buckets_.back().updated; }  // the step's last

  // Once done: the times. `origin` is when the first step began, on `first`.
  StepTimes read(std::size_t update, const Event& origin) const;

 private:
  struct TimingEvent : Event {
    TimingEvent() : Event(true) {}
  };
  struct Call {
    std::string_view name;
    TimingEvent begin, end;
  };
  struct Bucket {
    TimingEvent ready, started, ended, updating, updated;
  };
  TimingEvent begin_;
  std::vector<Call> calls_;
  std::size_t used_calls_ = 0;
  std::vector<Bucket> buckets_;
};

}  // namespace annulus
