// Tells Kubeflow Trainer (2.2 and later) how a run stands, so that `kubectl get trainjob` shows
// progress and metrics. The controller says by the environment of the pod that it wants to know; it
// serves all jobs of a cluster with five requests a second, so POSTs are at least five seconds
// apart, fewer while nothing new happens or the server does not take them. Invariant: it runs on a
// thread of its own, and nothing that the server does or does not do can fail the run, slow it down
// or say more than one line on stderr. On rank 0 alone; called by engine/cli/train.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/identity.h"
#include "engine/live_run.h"
#include "engine/observe/status_post.h"

namespace annulus {

// KUBEFLOW_TRAINER_SERVER_URL, _CA_CERT and _TOKEN; nothing where none is set. `warn` is told where
// only some are, or the URL is not https.
std::optional<StatusServer> status_server_of(const Environment& environment,
                                             const std::function<void(const std::string&)>& warn);

class StatusReporter {
 public:
  struct Pace {
    std::chrono::milliseconds gap{5'000};         // from a POST's begin to the next one's
    std::chrono::milliseconds unchanged{30'000};  // while percentage and epoch stay as they are
    std::chrono::milliseconds most{60'000};       // refused ones double the gap up to this
    std::chrono::milliseconds time_limit{5'000};  // of one POST
  };
  using Warn = std::function<void(const std::string& line)>;

  // The first POST comes a gap later. `warn` is called once at most, from the reporter's thread.
  StatusReporter(StatusServer server, const LiveRun& run, Warn warn, Pace pace);
  // Drops what is under way and returns within a second or so.
  ~StatusReporter();
  StatusReporter(const StatusReporter&) = delete;
  StatusReporter& operator=(const StatusReporter&) = delete;

  // The run's last word, a gap after the one before: waits for it, a gap and a time limit at most.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Wish { go_on, finish, stop };

  void run();
  bool wait();
  bool has_news(const RunSnapshot& snapshot) const;
  void post(const RunSnapshot& snapshot);
  void warn_once(const PostAnswer& answer);

  const StatusServer server_;
  const LiveRun& run_;
  const Warn warn_;
  const Pace pace_;
  // Of the thread alone.
  std::chrono::milliseconds gap_;
  Clock::time_point next_;                      // when to look whether to post
  std::optional<Clock::time_point> last_post_;  // its begin
  int last_percentage_ = -1;
  std::size_t last_epochs_ = 0;
  bool last_was_taken_ = true, warned_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  Wish wish_ = Wish::go_on;  // guarded by mutex_
  std::atomic<bool> cancelled_{false};
  std::thread thread_;
};

}  // namespace annulus
