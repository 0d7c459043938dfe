// A run's snapshot as Prometheus reads it: the text format, version 0.0.4. Names follow
// Prometheus' rules: base units (seconds, bytes), counters end in _total. Invariant: what is not
// known yet is not there, rather than 0. Called by engine/observe/metrics_server; docs/
// observability.md lists the names, and a test holds the two and the dashboard together.
#pragma once

#include <string>

#include "engine/live_run.h"

namespace annulus {

std::string metrics_page(const RunSnapshot& run);

}  // namespace annulus
