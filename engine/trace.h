// A timeline of the last steps of all ranks in one file, as chrome://tracing and Perfetto read it
// (Trace Event Format: complete events, ts and dur in microseconds, fractions kept). Ranks' clocks
// have nothing in common: they are brought together by a mark that ends on all of them at once, an
// all-reduce, and where there is none the file says that they are not. Called by engine/trainer.
#pragma once

#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "comm/control.h"
#include "engine/step_stamps.h"

namespace annulus {

struct TraceEvent {
  std::string name, track;  // "conv1", "compute"
  Interval time;            // microseconds on the rank's own clock
};

// The events of a rank's steps, in the order of time on each track.
std::vector<TraceEvent> trace_of(const std::deque<StepTimes>& steps);

// How much later rank r's clock is than rank 0's, from the ends of the event named `mark`, its
// first on each rank; empty where a rank has none.
std::vector<double> clock_offsets(const std::vector<std::vector<TraceEvent>>& ranks,
                                  const std::string& mark);

// {"traceEvents": […], "metadata": {"aligned_on": … or "clocks": "not aligned"}}
nlohmann::ordered_json merge_traces(const std::vector<std::vector<TraceEvent>>& ranks,
                                    const std::string& mark);

// Collective over the channel's ranks, if there is one: rank 0 returns the file's text, the others
// nothing.
std::string gather_trace(ControlChannel* control, int rank, const std::deque<StepTimes>& steps);

}  // namespace annulus
