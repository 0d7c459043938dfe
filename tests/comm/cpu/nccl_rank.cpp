// A rank as a process, for processes_test: nccl_rank TASK RANK WORLD [ID]. Without an id it makes
// one and prints it. Tasks:
//   sum    all-reduces of many sizes, compared with what they must be
//   work   all-reduces until there is an error, which it prints; SIGTERM aborts from another thread
//   idle   one all-reduce, then only looks for an error
//   init   only makes the communicator
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "comm/cpu/transport_name.h"
#include "kernels/cuda.h"
#include "tests/comm/cpu/expected_sums.h"

namespace annulus::test {
namespace {

void check(ncclResult_t result) {
  if (result == ncclSuccess) return;
  std::printf("failed %d %s\n", result, ncclGetLastError(nullptr));
  std::exit(1);
}

ncclUniqueId parse_id(const std::string& hex) {
  ncclUniqueId id{};
  for (std::size_t i = 0; i < sizeof id.internal; ++i)
    id.internal[i] = static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return id;
}

ncclUniqueId make_and_print_id() {
  ncclUniqueId id{};
  check(ncclGetUniqueId(&id));
  std::printf("id ");
  for (const char byte : id.internal) std::printf("%02x", static_cast<unsigned char>(byte));
  std::printf("\n");
  return id;
}

void print_state(ncclResult_t state, ncclComm_t comm) {
  std::printf("state %d %s\n", state, ncclGetLastError(comm));
}

void sum(ncclComm_t comm, int rank, int world, const Stream& stream) {
  const char* transport = cpu::nccl::transport_name(comm);
  const bool ring = std::string(transport) == "tcp";
  bool right = true;
  for (const std::size_t count : kCounts) {
    Buffer<float> in(inputs_of<float>(rank, count)), out(count);
    check(ncclAllReduce(in.span().data, out.span().data, count, ncclFloat32, ncclSum, comm,
                        stream.get()));
    stream.synchronize();
    right = right && same_bits(out.download(), expected_sum<float>(ring, world, count));
  }
  std::printf("%s over %s\n", right ? "right" : "wrong", transport);
}

// Aborts the communicator at SIGTERM, which the process must have blocked.
void abort_at_signal(ncclComm_t comm, std::atomic<bool>& aborted) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  int number = 0;
  sigwait(&set, &number);
  aborted = true;
  check(ncclCommAbort(comm));
}

void work(ncclComm_t comm, const Stream& stream) {
  std::atomic<bool> aborted = false;
  std::thread([&] { abort_at_signal(comm, aborted); }).detach();
  Buffer<float> data(std::vector<float>(200'000));
  ncclResult_t state = ncclSuccess;
  for (int i = 0; state == ncclSuccess; ++i) {
    const std::size_t count = i % 2 == 0 ? data.size() : 100;
    const ncclResult_t result = ncclAllReduce(data.span().data, data.span().data, count,
                                              ncclFloat32, ncclSum, comm, stream.get());
    cudaStreamSynchronize(stream.get());
    if (aborted) {
      std::printf("aborted\n");
      std::quick_exit(0);
    }
    check(ncclCommGetAsyncError(comm, &state));
    if (state == ncclSuccess) check(result);
    if (i == 3) std::printf("working\n");
  }
  print_state(state, comm);
  std::quick_exit(0);
}

void idle(ncclComm_t comm) {
  std::printf("working\n");
  ncclResult_t state = ncclSuccess;
  while (state == ncclSuccess) {
    check(ncclCommGetAsyncError(comm, &state));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  print_state(state, comm);
  check(ncclCommAbort(comm));
  std::exit(0);
}

}  // namespace
}  // namespace annulus::test

int main(int argc, char** argv) {
  using namespace annulus;
  using namespace annulus::test;
  if (argc < 4) return 2;
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);

  const std::string task = argv[1];
  const int rank = std::stoi(argv[2]), world = std::stoi(argv[3]);
  const ncclUniqueId id = argc > 4 ? parse_id(argv[4]) : make_and_print_id();
  ncclComm_t comm = nullptr;
  check(ncclCommInitRank(&comm, world, id, rank));
  {
    const Stream stream;
    if (task == "sum") sum(comm, rank, world, stream);
    if (task == "work") work(comm, stream);
    if (task == "idle") idle(comm);
  }
  check(ncclCommDestroy(comm));
  return 0;
}
