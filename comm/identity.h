// Who am I: the first stage of the way to a communicator. One row a launcher in identity.cpp's
// table; flags beat all; sources of one level that disagree are an error that shows both. Called by
// engine/cli.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace annulus {

struct Identity {
  int rank = 0, world = 1;
  int local_rank = 0, local_world = 1;  // on this host
  std::string source;  // "flags", "torchrun", "Open MPI", "annulus launcher", "alone"

  // Where rank 0 listens for the others; empty and 0 where the source does not say.
  std::string rendezvous_host;
  int rendezvous_port = 0;
  std::string job;  // equal on all ranks of one run, different in another; may be empty

  bool alone() const { return world == 1; }
};

// What the command line says; each beats the environment.
struct IdentityFlags {
  std::optional<int> rank, world, local_rank, local_world;
  std::string rendezvous;  // "host:port"
};

using Environment = std::function<const char*(const char* name)>;  // getenv, or a test's map

// Throws UserError (usage) for numbers that are none, do not fit together, or contradict.
Identity detect_identity(const IdentityFlags& flags, const Environment& environment);

}  // namespace annulus
