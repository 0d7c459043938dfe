// See step_stamps.h.
#include "engine/step_stamps.h"

namespace annulus {

StepStamps::StepStamps(std::size_t calls, std::size_t buckets) : calls_(calls), buckets_(buckets) {}

void StepStamps::begin(const Stream& compute) {
  used_calls_ = 0;
  begin_.stamp(compute);
}

void StepStamps::call_begins(std::string_view name, const Stream& compute) {
  Call& call = calls_[used_calls_++];
  call.name = name;
  call.begin.stamp(compute);
}

void StepStamps::call_ends(const Stream& compute) { calls_[used_calls_ - 1].end.stamp(compute); }

StepTimes StepStamps::read(std::size_t update, const Event& origin) const {
  const auto since_begin = [&](const Event& event) {
    return double(event.milliseconds_since(begin_));
  };
  StepTimes times{
      .update = update, .begin = begin_.milliseconds_since(origin), .calls = {}, .buckets = {}};
  for (std::size_t i = 0; i < used_calls_; ++i)
    times.calls.push_back(
        {calls_[i].name, {since_begin(calls_[i].begin), since_begin(calls_[i].end)}});
  for (const Bucket& bucket : buckets_)
    times.buckets.push_back({since_begin(bucket.ready),
                             since_begin(bucket.started),
                             since_begin(bucket.ended),
                             {since_begin(bucket.updating), since_begin(bucket.updated)}});
  return times;
}

}  // namespace annulus
