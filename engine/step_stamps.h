// The stamps of one step on the device's own clock: around every layer's call, when a bucket's
// gradients are ready, when its all-reduce starts and ends, around its update. Invariant: all
// events are made in the constructor; stamping allocates nothing and waits for nothing. In a
// captured step a stamp is a node that records its event anew at each launch; what streams wait on
// are other events, as such a node orders nothing. Called by engine/step and engine/plan; read by
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
  void ready(std::size_t bucket, const Stream& compute) { buckets_[bucket].ready.stamp(compute); }
  void started(std::size_t bucket, const Stream& communication) {
    buckets_[bucket].started.stamp(communication);
  }
  void ended(std::size_t bucket, const Stream& communication) {
    buckets_[bucket].ended.stamp(communication);
  }
  void update_begins(std::size_t bucket, const Stream& update) {
    buckets_[bucket].updating.stamp(update);
  }
  void update_ends(std::size_t bucket, const Stream& update) {
    buckets_[bucket].updated.stamp(update);
  }

  // How many calls are stamped. A graph's launch stamps those of its capture.
  std::size_t calls() const { return used_calls_; }
  void set_calls(std::size_t calls) { used_calls_ = calls; }

  // Once the step is done: the times. `origin` is when the first step began.
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
