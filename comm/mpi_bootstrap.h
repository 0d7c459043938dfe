// The way to a rendezvous under mpirun, which tells ranks who they are but not where rank 0
// listens: rank 0 listens on a free port, and MPI_Bcast hands the address on. Invariant: MPI is
// initialised, used and finalised within one session, before any device is touched; without Open
// MPI's variables nothing is loaded. MPI knows no deadlines: mpirun ends the ranks when one dies
// meanwhile. Called by engine/cli.
#pragma once

#include <cstddef>
#include <string>

#include "comm/identity.h"

namespace annulus {

class MpiSession {
 public:
  // Throws UserError (usage) where the library is missing or MPI_Init fails. MPI can be initialised
  // once in a process.
  explicit MpiSession(const std::string& library = "libannulus_mpi.so");
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  std::string broadcast(const std::string& of_rank_0);  // collective

 private:
  void broadcast(void* bytes, std::size_t count);

  int (*broadcast_)(void*, std::size_t);
  int (*finalize_)();
};

// True where mpirun says who we are and nobody says where rank 0 listens.
bool needs_mpi_rendezvous(const Identity& identity);

// Collective over all ranks of mpirun: fills in the identity's rendezvous. Returns rank 0's
// listener, for ControlOptions::listener; -1 on the other ranks.
int mpi_rendezvous(Identity& identity);

}  // namespace annulus
