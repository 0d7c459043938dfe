// libannulus_mpi.so: the three MPI calls that Annulus needs, in a library of their own, so that the
// program itself needs no MPI. Loaded by comm/mpi_bootstrap, and only in processes that mpirun
// started. Each returns an MPI error code (0: success) instead of ending the process.
#pragma once

#include <cstddef>

extern "C" {

int annulus_mpi_init();
int annulus_mpi_broadcast(void* bytes, std::size_t count);  // from rank 0 of MPI_COMM_WORLD to all
int annulus_mpi_finalize();
}
