// See live_run.h.
#include "engine/live_run.h"

#include <algorithm>
#include <utility>

#include "engine/step.h"
#include "engine/train_plan.h"

namespace annulus {
namespace {

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

RunSnapshot LiveRun::snapshot() const {
  const std::lock_guard lock(mutex_);
  RunSnapshot snapshot = now_;
  if (peers_alive_) snapshot.peers_alive = peers_alive_();
  return snapshot;
}

void LiveRun::is_rank(int rank, int ranks, std::optional<double> discovery_seconds) {
  const std::lock_guard lock(mutex_);
  now_.rank = rank;
  now_.ranks = ranks;
  now_.discovery_seconds = discovery_seconds;
}

void LiveRun::at_the_door() {
  const std::lock_guard lock(mutex_);
  now_.stage = RunSnapshot::Stage::at_the_door;
}

void LiveRun::count_peers_with(std::function<int()> peers_alive) {
  const std::lock_guard lock(mutex_);
  peers_alive_ = std::move(peers_alive);
}

void LiveRun::training_begins(const std::string& model, const TrainPlan& plan) {
  const std::lock_guard lock(mutex_);
  now_.stage = RunSnapshot::Stage::training;
  now_.model = model;
  now_.updates = updates_at_start_ = plan.start.updates;
  now_.planned_updates = plan.updates;
  now_.epochs = plan.start.epoch;
  now_.planned_epochs = plan.epochs;
}

void LiveRun::finished() {
  const std::lock_guard lock(mutex_);
  now_.stage = RunSnapshot::Stage::finished;
  now_.seconds_left = 0;
}

void LiveRun::step_done(const StepResult& result, const StepTimes& times) {
  const auto time = Clock::now();
  const double seconds = times.end() / 1000;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < RunSnapshot::kStepBounds.size(); ++i)
    if (seconds <= RunSnapshot::kStepBounds[i]) ++now_.steps_within[i];
  now_.step_seconds += seconds;
  if (now_.steps++ == 0) training_began_ = time;

  if (epoch_ != result.epoch) {
    epoch_ = result.epoch;
    epoch_began_ = time;
    epoch_images_ = timed_images_ = 0;
    loss_sum_ = accuracy_sum_ = 0;
  } else {
    timed_images_ += result.samples;
  }
  epoch_images_ += result.samples;
  loss_sum_ += result.loss * double(result.samples);
  accuracy_sum_ += result.accuracy * double(result.samples);
  if (epoch_images_) {
    now_.loss = loss_sum_ / double(epoch_images_);
    now_.accuracy = accuracy_sum_ / double(epoch_images_);
  }
  if (const double took = seconds_between(epoch_began_, time); took > 0)
    now_.images_per_second = double(timed_images_) / took;

  now_.images += result.samples;
  now_.updates = result.update + 1;
  if (result.loss_scale) now_.loss_scale = result.loss_scale->factor;
  const std::size_t done = now_.updates - updates_at_start_;
  if (done > 1 && now_.planned_updates >= now_.updates)
    now_.seconds_left = seconds_between(training_began_, time) / double(done - 1) *
                        double(now_.planned_updates - now_.updates);
}

void LiveRun::epoch_done(const EpochMetrics& metrics) {
  const std::lock_guard lock(mutex_);
  now_.epochs = metrics.epoch;
  now_.loss = metrics.loss;
  now_.accuracy = metrics.accuracy;
  now_.images_per_second = metrics.images_per_second();
  now_.last = metrics;
}

}  // namespace annulus
