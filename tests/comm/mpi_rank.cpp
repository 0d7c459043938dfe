// What the MPI test starts under mpirun: a rank that finds rank 0 by MPI_Bcast, joins the control
// channel, and tells what the ranks told each other there.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "comm/control.h"
#include "comm/mpi_bootstrap.h"

int main() {
  using namespace annulus;
  Identity identity = std::get<Identity>(detect_place({}, {.environment = getenv}));
  ControlOptions options;
  if (needs_mpi_rendezvous(identity)) options.listener = mpi_rendezvous(identity);
  options.host = identity.rendezvous_host;
  options.port = identity.rendezvous_port;
  options.job = identity.job;
  const auto channel = ControlChannel::join(identity, options);
  std::string told = identity.source + ":";
  for (const std::string& text : channel->gather(std::to_string(identity.rank))) told += " " + text;
  if (identity.rank == 0) fmt::print("{} of {}\n", told, identity.world);
  channel->leave(ExitCode::done, "");
}
