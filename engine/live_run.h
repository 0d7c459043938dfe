// How a run stands at this moment, for those who look at it while it trains: the metrics endpoint
// and the TrainJob's status (engine/observe). Written by engine/cli and, once a step and once an
// epoch, by the trainer; read by threads of their own. Invariant: a writer never waits for more
// than the copy of a few numbers, and nothing here can fail a run.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/metrics.h"

namespace annulus {

struct StepResult;
struct StepTimes;
struct TrainPlan;

// Of the training loss and accuracy: means over the images of an epoch that are done, while it goes
// on; the epoch's own at its end and until the next one's first update.
struct RunSnapshot {
  enum class Stage { starting, at_the_door, training, finished };
  Stage stage = Stage::starting;
  int rank = 0, ranks = 1;
  std::string model;
  std::optional<double> discovery_seconds;
  int peers_alive = 0;  // other ranks that have come and are not lost

  std::size_t updates = 0, planned_updates = 0;  // of the whole run
  std::size_t epochs = 0, planned_epochs = 0;    // done, in all
  std::uint64_t images = 0;                      // since this start
  std::optional<double> loss, accuracy, images_per_second;
  std::optional<double> seconds_left;  // by the pace of this start, evaluations included
  std::optional<EpochMetrics> last;    // epoch
  std::optional<double> loss_scale;    // of fp16

  // Steps by their length on the device: as many as took at most that many seconds.
  static constexpr std::array kStepBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                          0.25,  0.5,    1.0,   2.5,  5.0,   10.0};
  std::array<std::uint64_t, kStepBounds.size()> steps_within{};  // each counts the shorter, too
  std::uint64_t steps = 0;
  double step_seconds = 0;  // sum

  // At the door: rank 0's port listens, or this rank has begun to look for rank 0.
  bool ready() const { return stage != Stage::starting; }
};

class LiveRun {
 public:
  RunSnapshot snapshot() const;

  // engine/cli, in this order.
  void is_rank(int rank, int ranks, std::optional<double> discovery_seconds);
  void at_the_door();
  // Asked at each snapshot, from the reader's thread; null before what it looks at is gone.
  void count_peers_with(std::function<int()> peers_alive);
  void training_begins(const std::string& model, const TrainPlan& plan);
  void finished();

  // The trainer, on every rank.
  void step_done(const StepResult& result, const StepTimes& times);
  void epoch_done(const EpochMetrics& metrics);

 private:
  using Clock = std::chrono::steady_clock;

  mutable std::mutex mutex_;
  RunSnapshot now_;
  std::function<int()> peers_alive_;
  std::size_t updates_at_start_ = 0;
  Clock::time_point training_began_{}, epoch_began_{};
  // Of the epoch under way; nothing before its first update.
  std::optional<std::uint32_t> epoch_;
  std::size_t epoch_images_ = 0,
              timed_images_ = 0;  // timed: behind the first, whose begin is unknown
  double loss_sum_ = 0, accuracy_sum_ = 0;
};

// Counts the peers for `live` as long as it lives.
class PeersCounted {
 public:
  PeersCounted(LiveRun& live, std::function<int()> peers_alive) : live_(live) {
    live_.count_peers_with(std::move(peers_alive));
  }
  ~PeersCounted() { live_.count_peers_with(nullptr); }
  PeersCounted(const PeersCounted&) = delete;
  PeersCounted& operator=(const PeersCounted&) = delete;

 private:
  LiveRun& live_;
};

}  // namespace annulus
