// See progress.h.
#include "engine/progress.h"
#include "comm/console.h"
#include "comm/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace annulus {
namespace {

std::string clock_time(double seconds) {
  const auto s = std::lround(seconds);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

Progress::Progress(std::size_t epochs, std::size_t total_updates, std::size_t done)
    : terminal_(isatty(STDERR_FILENO)),
      epochs_(epochs),
      total_updates_(total_updates),
      done_(done),
      updates_(done) {}

void Progress::epoch_begins(std::size_t epoch, std::size_t steps) {
  if (epoch_) train_seconds_ += std::chrono::duration<double>(last_drawn_ - epoch_start_).count();
  epoch_ = epoch;
  steps_ = steps;
  step_ = samples_ = 0;
  epoch_start_ = last_drawn_ = Clock::now();
}

void Progress::step_done(std::size_t samples, double loss) {
  ++step_;
  ++updates_;
  samples_ += samples;
  loss_ = step_ == 1 ? loss : 0.95 * loss_ + 0.05 * loss;
  const auto now = Clock::now();
  const std::chrono::duration<double> pause(terminal_ ? 0.1 : 30.0);
  if (now - last_drawn_ < pause && step_ != steps_) return;
  const bool silent = !terminal_ && step_ == steps_;  // the epoch's own line follows at once
  last_drawn_ = now;
  if (!silent) draw();
}

// One less than the terminal's: a full line would wrap, and every refresh then leave one behind.
std::size_t Progress::columns() {
  const std::size_t columns = look_of(STDERR_FILENO).columns;
  return columns > 1 ? columns - 1 : std::string::npos;
}

void Progress::draw() const {
  if (terminal_)
    note("\r\033[K" + text().substr(0, columns()));
  else
    note(text() + "\n");
  std::fflush(stderr);
}

std::string Progress::text() const {
  constexpr std::size_t kWidth = 20;
  const double seconds = std::chrono::duration<double>(last_drawn_ - epoch_start_).count();
  const double rate = seconds > 0 ? double(samples_) / seconds : 0;
  const double left = double(total_updates_ - updates_) * (train_seconds_ + seconds) /
                      double(updates_ > done_ ? updates_ - done_ : 1);
  std::string bar;
  if (terminal_) {
    const std::size_t filled = kWidth * step_ / (steps_ ? steps_ : 1);
    bar = fmt::format("[{:<{}}] ", std::string(filled, '='), kWidth);
  }
  return fmt::format("epoch {}/{} {}step {}/{}, {:.0f} images/s, loss {:.3f}, {} left", epoch_,
                     epochs_, bar, step_, steps_, rate, loss_, clock_time(left));
}

void Progress::clear() {
  if (!terminal_) return;
  note("\r\033[K");
  std::fflush(stderr);
}

}  // namespace annulus
