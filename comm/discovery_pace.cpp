// See comm/discovery_pace.h.
#include "comm/discovery_pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace annulus {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds first_pause{100}, longest_pause{5'000};
constexpr milliseconds longest_round{5'000};
constexpr milliseconds first_progress{2'000}, between_progress{5'000};

milliseconds since(Deadline begin) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
}

}  // namespace

DiscoveryPace::DiscoveryPace(milliseconds timeout, int index, const Progress& progress)
    : started_(steady_clock::now()),
      deadline_(started_ + timeout),
      next_progress_(started_ + first_progress),
      index_(index),
      progress_(progress) {}

bool DiscoveryPace::over() const { return steady_clock::now() >= deadline_; }

Deadline DiscoveryPace::round_deadline() const { return std::min(deadline_, after(longest_round)); }

std::string DiscoveryPace::waited() const {
  return fmt::format("{:.0f} s", static_cast<double>(since(started_).count()) / 1000);
}

void DiscoveryPace::pause(Deadline until, milliseconds at_least) const {
  const milliseconds usual = std::clamp(since(started_) / 8, first_pause, longest_pause);
  const milliseconds spread = usual * (index_ % 8) / 32;
  std::this_thread::sleep_until(
      std::min({until, deadline_, after(std::max(usual, at_least) + spread)}));
}

void DiscoveryPace::note(const std::string& text) const {
  if (progress_) progress_("discovery: " + text);
}

void DiscoveryPace::progress(const std::string& text) {
  if (steady_clock::now() < next_progress_) return;
  next_progress_ = after(between_progress);
  note(text);
}

}  // namespace annulus
