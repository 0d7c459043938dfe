// MPI behind three plain functions; see comm/mpi/annulus_mpi.h. Source: MPI 3.1, chapters 5 and 8.
#include "comm/mpi/annulus_mpi.h"

#include <mpi.h>

int annulus_mpi_init() {
  if (const int status = MPI_Init(nullptr, nullptr); status != MPI_SUCCESS) return status;
  return MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

int annulus_mpi_broadcast(void* bytes, std::size_t count) {
  return MPI_Bcast(bytes, static_cast<int>(count), MPI_BYTE, 0, MPI_COMM_WORLD);
}

int annulus_mpi_finalize() { return MPI_Finalize(); }
