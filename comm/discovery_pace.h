// The clock of discovery: rounds with growing pauses until the deadline, and progress lines that
// come every few seconds. Called by comm/discovery and comm/discovery_count.
#pragma once

#include <chrono>
#include <string>

#include "comm/discovery.h"
#include "comm/socket.h"

namespace annulus {

class DiscoveryPace {
 public:
  // `index` spreads the questions of many workers that start together.
  DiscoveryPace(std::chrono::milliseconds timeout, int index, const Progress& progress);

  bool over() const;
  Deadline round_deadline() const;  // for the answers of one round
  std::string waited() const;       // "12 s"

  // An eighth of what was waited so far, from 100 ms to 5 s, so that waiting longer than need be
  // stays a small part of the whole; not beyond `until`, nor the deadline.
  void pause(Deadline until = Deadline::max(),
             std::chrono::milliseconds at_least = std::chrono::milliseconds{0}) const;

  // Said at once.
  void note(const std::string& text) const;
  // Said for the first time after 2 s, then every 5 s.
  void progress(const std::string& text);

 private:
  Deadline started_, deadline_, next_progress_;
  int index_;
  const Progress& progress_;
};

}  // namespace annulus
