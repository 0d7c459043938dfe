// A rank's side of the control channel: one thread that beats, listens to rank 0 and takes its
// silence or end for the loss of rank 0. Invariant: callers never touch the connection; they leave
// frames to the thread and wait, with a deadline, for what it finds. Called by comm/control.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm/control.h"
#include "comm/control_connection.h"
#include "comm/control_messages.h"

namespace annulus::control {

class Member : public ControlChannel {
 public:
  // `connection` has been welcomed by rank 0, which runs on `rank_0_host`.
  Member(Connection connection, std::string rank_0_host, const ControlOptions& options);
  ~Member() override;
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  std::vector<std::string> gather(const std::string& mine) override;
  std::string broadcast(const std::string& of_rank_0) override;
  void barrier(const char* name) override;
  std::vector<Fact> facts_of(int) const override { return {}; }
  void set_phase(const Phase& phase) override { phase_.set(phase); }
  std::optional<Loss> lost() const override;
  void on_loss(std::function<void(const Loss&)> handler) override;
  void leave(ExitCode code, const std::string& reason) override;

 private:
  std::vector<std::string> collective(Contribution contribution);
  bool post_last_word(ExitCode code, const std::string& reason);
  void await_end_of_connection(std::unique_lock<std::mutex>& lock);

  // The thread.
  void run();
  void serve();
  void send_posted();
  void take_frames();
  void take_frame(const Frame& frame);
  void judge_rank_0();
  void lose(const Loss& loss);
  void lose_rank_0(const std::string& what);
  bool stop_requested() const;

  const ControlOptions options_;
  const std::string rank_0_host_;
  Connection connection_;         // the thread's
  RemotePhase rank_0_phase_;      // the thread's
  Beat beat_;                     // the thread's
  Clock::time_point turn_began_;  // the thread's: all that had come by then is read in the turn
  bool all_done_ = false;         // the thread's: rank 0 has said farewell
  Waker waker_;
  SharedPhase phase_;
  std::atomic<bool> has_loss_{false};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Frame> posted_;
  std::optional<Result> result_;
  std::optional<Loss> loss_;
  std::function<void(const Loss&)> handler_;
  bool left_ = false;     // the last word was posted
  bool gave_up_ = false;  // and it was not done
  bool closed_ = false;   // nothing will come any more
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace annulus::control
