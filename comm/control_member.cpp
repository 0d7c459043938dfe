// A rank's side of the control channel; see comm/control_member.h.
#include "comm/control_member.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace annulus::control {

Member::Member(Connection connection, std::string rank_0_host, const ControlOptions& options)
    : options_(options),
      rank_0_host_(std::move(rank_0_host)),
      connection_(std::move(connection)),
      beat_(options.heartbeat) {
  connection_.start_clocks();
  thread_ = std::thread([this] { run(); });
}

Member::~Member() {
  {
    std::unique_lock lock(mutex_);
    if (post_last_word(ExitCode::internal, "it gave no reason")) await_end_of_connection(lock);
    stop_ = true;
  }
  waker_.wake();
  thread_.join();
}

// --- callers -------------------------------------------------------------------------------------

std::vector<std::string> Member::gather(const std::string& mine) {
  return collective({Contribution::Answer::all_texts, "gather", mine});
}

std::string Member::broadcast(const std::string& of_rank_0) {
  return collective({Contribution::Answer::text_of_rank_0, "broadcast", of_rank_0}).at(0);
}

void Member::barrier(const char* name) {
  collective({Contribution::Answer::nothing, fmt::format("barrier '{}'", name), ""});
}

std::vector<std::string> Member::collective(Contribution contribution) {
  std::unique_lock lock(mutex_);
  result_.reset();
  posted_.push_back(contribution.frame());
  waker_.wake();
  // Rank 0 gives the collective up in time; a rank 0 that does not is lost after peer_timeout.
  const auto deadline = Clock::now() + options_.collective_timeout + 2 * options_.peer_timeout;
  changed_.wait_until(lock, deadline, [this] { return result_ || loss_ || closed_; });
  if (result_) return std::move(result_->texts);
  if (loss_) throw PeerError(loss_->code, loss_->rank, loss_->message);
  throw PeerError(ExitCode::peer_lost, 0,
                  fmt::format("rank 0 on {} did not answer {}", rank_0_host_, contribution.call));
}

std::optional<Loss> Member::lost() const {
  if (!has_loss_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return loss_;
}

void Member::on_loss(std::function<void(const Loss&)> handler) {
  std::unique_lock lock(mutex_);
  if (!loss_) {
    handler_ = std::move(handler);
    return;
  }
  const Loss loss = *loss_;
  lock.unlock();
  handler(loss);
}

void Member::leave(ExitCode code, const std::string& reason) {
  std::unique_lock lock(mutex_);
  if (!post_last_word(code, reason)) return;
  if (code != ExitCode::done) return await_end_of_connection(lock);
  // As long as rank 0 beats: it is rank 0 that judges whether the others live.
  changed_.wait(lock, [this] { return closed_; });
  if (loss_) throw PeerError(loss_->code, loss_->rank, loss_->message);
}

// False after the first time. From now on nobody is called: what a handler would end has ended.
bool Member::post_last_word(ExitCode code, const std::string& reason) {
  if (std::exchange(left_, true)) return false;
  gave_up_ = code != ExitCode::done;
  handler_ = nullptr;
  posted_.push_back(Leave{code, reason, phase_.get()}.frame());
  waker_.wake();
  return true;
}

// Rank 0 closes it when it has the last word; one that does not take it in time is not waited for.
void Member::await_end_of_connection(std::unique_lock<std::mutex>& lock) {
  changed_.wait_for(lock, options_.peer_timeout, [this] { return closed_; });
}

// --- the thread ----------------------------------------------------------------------------------

void Member::run() {
  try {
    while (connection_.open() && !stop_requested()) serve();
  } catch (const std::exception& error) {
    lose_rank_0(error.what());
  }
  connection_.close();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Member::serve() {
  turn_began_ = Clock::now();
  std::array entries{waker_.poll_entry(), connection_.poll_entry()};
  poll_all(entries.data(), entries.size(), beat_.tick());
  waker_.clear();
  send_posted();
  take_frames();
  connection_.flush();
  if (beat_.due() && connection_.all_sent()) connection_.send(Heartbeat{phase_.get()}.frame());
  judge_rank_0();
}

void Member::send_posted() {
  std::vector<Frame> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (const Frame& frame : posted) connection_.send(frame);
}

void Member::take_frames() {
  connection_.receive();
  try {
    while (const std::optional<Frame> frame = connection_.next_frame()) take_frame(*frame);
  } catch (const BadFrame& error) {
    lose_rank_0(fmt::format("sent what nobody understands ({})", error.what()));
  }
}

void Member::take_frame(const Frame& frame) {
  if (frame.type == FrameType::heartbeat) {
    rank_0_phase_ = Heartbeat::from(frame).phase;
  } else if (frame.type == FrameType::loss) {
    lose(loss_from(frame));
  } else if (frame.type == FrameType::farewell) {
    connection_.close();
    all_done_ = true;
  } else {
    const std::lock_guard lock(mutex_);
    result_ = Result::from(frame);
    changed_.notify_all();
  }
}

void Member::judge_rank_0() {
  const std::chrono::milliseconds limit = options_.peer_timeout;
  if (all_done_) return;
  if (!connection_.open())
    lose_rank_0("ended without a word: killed, or its host is gone");
  else if (connection_.silent_for(limit, turn_began_))
    lose_rank_0(
        fmt::format("was silent for {:g} s: stopped, or its host is out of reach", seconds(limit)));
  else if (connection_.stuck_for(limit, turn_began_))
    lose_rank_0(fmt::format("took no data for {:g} s", seconds(limit)));
}

void Member::lose_rank_0(const std::string& what) {
  lose({0, ExitCode::peer_lost,
        fmt::format("rank 0 on {} in {}: {}", rank_0_host_, describe(rank_0_phase_), what)});
}

// The first loss counts; after this rank's own last word, if it was not done, none does.
void Member::lose(const Loss& loss) {
  connection_.close();
  std::function<void(const Loss&)> handler;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    if (loss_ || gave_up_) return;
    loss_ = loss;
    has_loss_.store(true, std::memory_order_release);
    handler = std::move(handler_);
  }
  if (handler) handler(loss);
}

bool Member::stop_requested() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

}  // namespace annulus::control
