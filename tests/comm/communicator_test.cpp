// The communicator over a stand-in for NCCL, whose all-reduces never end and whose asynchronous
// error comes when the test says so: what real NCCL does when a peer is gone.
#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>

#include "tests/comm/control_ranks.h"

namespace {

struct StandIn {
  std::atomic<ncclResult_t> error{ncclSuccess};
  std::atomic<int> calls{0}, aborts{0};
  std::promise<void> aborted;
  std::shared_future<void> end_of_stream{aborted.get_future()};
};

StandIn* stand_in = nullptr;

// The all-reduce that hangs must not hang its caller. Before the first CUDA call of the process.
const bool kThreads = setenv("ANNULUS_CPU_MODE", "threads", 1) == 0;

void wait_for_abort(void*) { stand_in->end_of_stream.wait(); }

}  // namespace

// Linked in place of the CPU device's.
struct ncclComm {};

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int, ncclUniqueId, int, ncclConfig_t*) {
  static ncclComm only;
  *comm = &only;
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* result) {
  *result = stand_in->error;
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                           cudaStream_t stream) {
  constexpr int fatal = 5;
  if (++stand_in->calls < fatal) return ncclSuccess;
  stand_in->error = ncclRemoteError;
  return cudaLaunchHostFunc(stream, wait_for_abort, nullptr) == cudaSuccess
             ? ncclSuccess
             : ncclUnhandledCudaError;
}
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t,
                           cudaStream_t) {
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  if (++stand_in->aborts == 1) stand_in->aborted.set_value();
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }
const char* ncclGetErrorString(ncclResult_t) { return "stand-in error"; }
const char* ncclGetLastError(ncclComm_t) { return "stand-in words"; }

namespace annulus {
namespace {

class CommunicatorTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(kThreads);
    stand_in = &nccl_;
  }
  StandIn nccl_;
};

// The control channel knows of nothing: the peer lives.
TEST_F(CommunicatorTest, AnErrorEndsTheWaitForAStreamThatNeverCompletes) {
  test::Ranks ranks(2);
  ranks.each([&](int rank) {
    const auto control = ranks.join(rank);
    if (rank == 1) {
      control->broadcast("");
      control->barrier("seen");
    } else {
      const Stream stream;
      const Event done;
      const Buffer<float> values(std::vector<float>(8, 1.f));
      Communicator communicator(rank, 2, *control, ranks.options());
      communicator.join();
      for (std::size_t step = 1; step <= 5; ++step)
        communicator.all_reduce(values.span(), stream, {.name = "step", .step = step, .bucket = 0});
      done.record(stream);
      const auto begin = std::chrono::steady_clock::now();
      try {
        communicator.wait(done);
        ADD_FAILURE() << "the stream completed";
      } catch (const PeerError& error) {
        EXPECT_EQ(error.code(), ExitCode::peer_lost);
        EXPECT_TRUE(test::says(error.what(), "stand-in words"));
      }
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));  // 1, and room
      EXPECT_EQ(communicator.flight_record().phase().step, 1u) << "nothing is known to be done";
      communicator.abort();
      EXPECT_EQ(nccl_.aborts, 1);
      control->barrier("seen");
    }
    control->leave(ExitCode::done, "");
  });
}

}  // namespace
}  // namespace annulus
