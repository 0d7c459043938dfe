// The HTTP endpoint of a pod: /metrics for Prometheus, /healthz and /readyz for probes; off unless
// --metrics-port asks for it. Invariant: it answers from a snapshot, on threads of its own, so no
// scrape or probe waits for the training, and what goes wrong with it is said in one line and does
// not fail the run. Made by engine/cli/ranks.
//
// A pod has one port, and its first rank serves it, with that rank's own numbers: loss, rates and
// communication are those of all ranks, or means over them, and the length of a step is the same
// for all ranks of a synchronous run, so further ranks would add series and no knowledge. The
// launcher is not the one to serve: it has no numbers and would have to ask. In its stead, while a
// pod looks for the others, the process that looks already serves: /healthz is 200, /readyz 503;
// where it then starts several ranks it hands the port on. So one port is taken by one process at
// any time, whether a pod has one rank or eight; under mpirun, torchrun or Slurm it is the rank
// with local rank 0.
#pragma once

#include <memory>

#include "comm/identity.h"
#include "engine/live_run.h"

namespace annulus {

class MetricsServer {
 public:
  // On every address, plain HTTP: nothing secret is served, and a NetworkPolicy says who may ask.
  // Nothing where the port cannot be had: then that is said on stderr. `run` must outlive it.
  static std::unique_ptr<MetricsServer> start(int port, const LiveRun& run);
  virtual ~MetricsServer() = default;
};

// Whether this rank serves the port of its pod.
bool serves_metrics(const Identity& identity);

}  // namespace annulus
