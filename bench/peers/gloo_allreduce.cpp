// gloo's ring all-reduce over TCP on the loopback interface, measured as mpi_allreduce.cpp measures
// MPI. Its ranks are forked here and meet through a folder. Run by bench/peers/allreduce.py.
//
//   gloo_allreduce RANKS FOLDER BYTES…
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "allreduce_rows.h"

namespace {

using Context = std::shared_ptr<gloo::Context>;

Context join(int rank, int ranks, const char* folder) {
  gloo::transport::tcp::attr address;
  address.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(address);
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  return context;
}

void meet(const Context& context) {
  gloo::BarrierOptions options(context);
  gloo::barrier(options);
}

void sum(const Context& context, rows::Buffers& buffers) {
  gloo::AllreduceOptions options(context);
  options.setInput(buffers.input.data(), buffers.input.size());
  options.setOutput(buffers.output.data(), buffers.output.size());
  void (*add)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;
  options.setReduceFunction(add);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  gloo::allreduce(options);
}

double slowest(const Context& context, double mine) {
  gloo::AllreduceOptions options(context);
  options.setOutput(&mine, 1);
  void (*larger)(void*, const void*, const void*, std::size_t) = &gloo::max<double>;
  options.setReduceFunction(larger);
  gloo::allreduce(options);
  return mine;
}

void measure(int rank, int ranks, char** arguments) {
  const Context context = join(rank, ranks, arguments[0]);
  for (char** size = arguments + 1; *size != nullptr; ++size) {
    const std::size_t bytes = std::strtoull(*size, nullptr, 10);
    rows::Buffers buffers(bytes, rank);
    const double seconds = rows::median_call(
        rows::Contender{.meet = [&] { meet(context); },
                        .all_reduce = [&] { sum(context, buffers); },
                        .slowest = [&](double mine) { return slowest(context, mine); }});
    if (rank == 0) rows::print(bytes, seconds, buffers.count_wrong(ranks));
  }
  meet(context);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int ranks = std::atoi(argv[1]);
  int rank = 0;
  for (int other = 1; other < ranks && rank == 0; ++other)
    if (fork() == 0) rank = other;
  measure(rank, ranks, argv + 2);
  while (rank == 0 && wait(nullptr) > 0) {
  }
}
