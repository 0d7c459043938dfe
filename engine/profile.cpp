// Every rank tells how long each all-reduce took it; from that follows what was transfer and what
// was waiting, and from that each rank's own overlap; the reports are then averaged.
#include "engine/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/exchange.h"

namespace annulus {
namespace {

std::vector<Interval> intervals_of(const StepTimes& step) {
  std::vector<Interval> computing;
  for (const CallTimes& call : step.calls) computing.push_back(call.time);
  for (const BucketTimes& bucket : step.buckets) computing.push_back(bucket.update);
  return computing;
}

double exposed_part(const std::vector<Interval>& computing, double begin, double end) {
  return measure_overlap(computing, {{begin, end}}).exposed();
}

std::vector<double> numbers_of(const OverlapReport& r) {
  std::vector<double> numbers{r.overlap, r.exposed, r.waiting, r.step, r.compute, r.interference};
  for (const BucketReport& b : r.buckets)
    numbers.insert(numbers.end(), {b.ready, b.started, b.ended, b.waiting, b.transfer, b.exposed});
  return numbers;
}

void set_numbers(OverlapReport& r, const std::vector<double>& numbers) {
  auto next = numbers.begin();
  for (double* value : {&r.overlap, &r.exposed, &r.waiting, &r.step, &r.compute, &r.interference})
    *value = *next++;
  for (BucketReport& b : r.buckets)
    for (double* value : {&b.ready, &b.started, &b.ended, &b.waiting, &b.transfer, &b.exposed})
      *value = *next++;
}

}  // namespace

void Profile::add(const StepTimes& times) {
  if (times.update < kWarmUp) return;
  steps_.push_back(times);
  if (steps_.size() > kKept) steps_.pop_front();
}

double compute_time(const std::deque<StepTimes>& steps) {
  std::vector<double> times;
  for (const StepTimes& step : steps) {
    times.push_back(0);
    for (const CallTimes& call : step.calls) times.back() += call.time.length();
  }
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::vector<std::vector<double>> Profile::transfers(ControlChannel& control) const {
  std::vector<double> stays;
  for (const StepTimes& step : steps_)
    for (const BucketTimes& bucket : step.buckets) stays.push_back(bucket.ended - bucket.started);
  const std::vector<std::vector<double>> all = gather_numbers(control, stays);

  std::vector<std::vector<double>> result;
  for (std::size_t step = 0, i = 0; step < steps_.size(); ++step) {
    result.emplace_back();
    for (std::size_t b = 0; b < buckets_.size(); ++b, ++i) {
      std::vector<double> stay_of_each_rank;
      for (const std::vector<double>& rank : all) stay_of_each_rank.push_back(rank.at(i));
      result.back().push_back(transfer_time(stay_of_each_rank));
    }
  }
  return result;
}

OverlapReport Profile::mine(const std::vector<std::vector<double>>& transfers) const {
  const double count = double(steps_.size());
  OverlapReport report{.steps = steps_.size(), .buckets = {}};
  for (const Bucket& bucket : buckets_) report.buckets.push_back({.bytes = bucket.bytes()});
  Overlap total;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const std::vector<Interval> computing = intervals_of(steps_[s]);
    std::vector<Interval> communicating;
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      const BucketTimes& times = steps_[s].buckets[b];
      const double moving = times.ended - transfers[s][b];
      communicating.push_back({moving, times.ended});
      report.waiting += exposed_part(computing, times.started, moving) / count;

      BucketReport& bucket = report.buckets[b];
      bucket.ready += times.ready / count;
      bucket.started += times.started / count;
      bucket.ended += times.ended / count;
      bucket.waiting += (moving - times.started) / count;
      bucket.transfer += transfers[s][b] / count;
      bucket.exposed += exposed_part(computing, moving, times.ended) / count;
    }
    total += measure_overlap(computing, communicating);
    report.step += steps_[s].end() / count;
  }
  report.overlap = total.ratio();
  report.exposed = total.exposed() / count;
  report.compute = compute_time(steps_);
  report.interference = undisturbed_ > 0 ? report.compute / undisturbed_ - 1
                                         : std::numeric_limits<double>::quiet_NaN();
  return report;
}

OverlapReport Profile::report(ControlChannel& control) const {
  if (steps_.empty()) return {};
  OverlapReport report = mine(transfers(control));
  const std::vector<std::vector<double>> all = gather_numbers(control, numbers_of(report));
  std::vector<double> mean(all.front().size(), 0);
  for (const std::vector<double>& rank : all)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += rank[i] / double(ranks_);
  set_numbers(report, mean);
  return report;
}

double bus_bandwidth(const BucketReport& bucket, std::size_t ranks) {
  const double factor = 2 * (double(ranks) - 1) / double(ranks);
  return bucket.transfer > 0 ? double(bucket.bytes) * factor / bucket.transfer * 1e3 : 0;
}

std::string bucket_table(const OverlapReport& report, std::size_t ranks) {
  std::string table =
      fmt::format("{:>6} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "bucket", "size",
                  "ready", "started", "ended", "waiting", "transfer", "exposed", "busbw");
  table += fmt::format("{:>6} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "", "", "(ms)",
                       "(ms)", "(ms)", "(ms)", "(ms)", "(ms)", "(GB/s)");
  for (std::size_t b = 0; b < report.buckets.size(); ++b) {
    const BucketReport& r = report.buckets[b];
    table +=
        fmt::format("{:>6} {:>10} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.2f}\n",
                    b, format_bytes(r.bytes), r.ready, r.started, r.ended, r.waiting, r.transfer,
                    r.exposed, bus_bandwidth(r, ranks) * 1e-9);
  }
  return table;
}

}  // namespace annulus
