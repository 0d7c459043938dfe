// MPI_Allreduce by the method of `annulus bench allreduce`: the ranks meet, then make a number of
// calls in a row; a call costs what the slowest rank needed; the median of several rows. fp32, sum,
// out of place. Prints "bytes microseconds wrong" for each size. Run by bench/peers/allreduce.py.
//
//   mpirun -np RANKS mpi_allreduce BYTES…
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "allreduce_rows.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) {
    const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
    rows::Buffers buffers(bytes, rank);
    const double seconds = rows::median_call(rows::Contender{
        .meet = [] { MPI_Barrier(MPI_COMM_WORLD); },
        .all_reduce =
            [&] {
              MPI_Allreduce(buffers.input.data(), buffers.output.data(),
                            static_cast<int>(buffers.input.size()), MPI_FLOAT, MPI_SUM,
                            MPI_COMM_WORLD);
            },
        .slowest =
            [](double mine) {
              double slowest = 0;
              MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
              return slowest;
            }});
    if (rank == 0) rows::print(bytes, seconds, buffers.count_wrong(ranks));
  }
  MPI_Finalize();
}
