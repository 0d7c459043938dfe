// The communicator over a stand-in for NCCL, whose all-reduces never end and whose asynchronous
// error comes when the test says so: what real NCCL does when a peer is gone.
#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include "tests/comm/control_ranks.h"

namespace {

struct StandIn {
  std::atomic<ncclResult_t> error{ncclSuccess};
  std::atomic<int> calls{0}, aborts{0}, destroyed{0}, allocated{0};
  std::set<const void*> registered;
  int version = NCCL_VERSION_CODE;
  bool never_finalized = false, abort_hangs = false;
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
ncclResult_t ncclGetVersion(int* version) {
  *version = stand_in->version;
  return ncclSuccess;
}
ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  ++stand_in->allocated;
  return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclMemFree(void* pointer) {
  EXPECT_FALSE(stand_in->registered.contains(pointer)) << "freed while it is registered";
  --stand_in->allocated;
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t ncclCommRegister(const ncclComm_t, void* data, size_t, void** handle) {
  stand_in->registered.insert(*handle = data);
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(const ncclComm_t, void* handle) {
  stand_in->registered.erase(handle);
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) {
  if (!stand_in->never_finalized) return ncclSuccess;
  stand_in->error = ncclInProgress;
  return ncclInProgress;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  if (stand_in->abort_hangs) std::this_thread::sleep_for(std::chrono::minutes(1));
  if (++stand_in->aborts == 1) stand_in->aborted.set_value();
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t) {
  ++stand_in->destroyed;
  return ncclSuccess;
}
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

// One rank: a channel to nobody, and what is asked of the communicator.
void on_one_rank(const ControlOptions& options, const std::function<void(Communicator&)>& body) {
  test::Ranks ranks(1, options);
  ranks.each([&](int rank) {
    const auto control = ranks.join(rank);
    {
      Communicator communicator(rank, 1, *control, ranks.options());
      body(communicator);
    }
    control->leave(ExitCode::done, "");
  });
}

TEST_F(CommunicatorTest, MemoryIsRegisteredWhileThereIsACommunicator) {
  std::shared_ptr<void> later, outlives;
  on_one_rank(test::quick_options(), [&](Communicator& communicator) {
    outlives = communicator.allocate(64);
    EXPECT_EQ(nccl_.registered.size(), 0u) << "there is nothing yet to be registered with";
    communicator.join();
    EXPECT_EQ(nccl_.registered.size(), 1u);
    later = communicator.allocate(64);
    EXPECT_EQ(nccl_.registered.size(), 2u);
    later.reset();
    EXPECT_EQ(nccl_.registered.size(), 1u);
    EXPECT_EQ(nccl_.allocated, 1);
  });
  EXPECT_EQ(nccl_.registered.size(), 0u);
  EXPECT_EQ(nccl_.destroyed, 1);
  outlives.reset();
  EXPECT_EQ(nccl_.allocated, 0);
}

TEST_F(CommunicatorTest, AnAbortLeavesMemoryToTheEndOfTheProcess) {
  on_one_rank(test::quick_options(), [&](Communicator& communicator) {
    communicator.join();
    std::shared_ptr<void> memory = communicator.allocate(64);
    communicator.abort();
    memory.reset();
    EXPECT_EQ(nccl_.allocated, 1);
    EXPECT_EQ(nccl_.registered.size(), 1u) << "nobody asks a communicator that is gone";
  });
}

TEST_F(CommunicatorTest, AnOldLibraryGetsPlainMemory) {
  nccl_.version = NCCL_VERSION(2, 18, 5);
  on_one_rank(test::quick_options(), [&](Communicator& communicator) {
    const std::shared_ptr<void> memory = communicator.allocate(64);
    communicator.join();
    EXPECT_NE(memory, nullptr);
    EXPECT_EQ(nccl_.allocated, 0);
    EXPECT_EQ(nccl_.registered.size(), 0u);
  });
}

TEST_F(CommunicatorTest, AnEndThatNeverComesIsAbortedAtTheDeadline) {
  nccl_.never_finalized = true;
  ControlOptions options = test::quick_options();
  options.rendezvous_timeout = std::chrono::seconds(1);
  on_one_rank(options, [](Communicator& communicator) { communicator.join(); });
  EXPECT_EQ(nccl_.aborts, 1);
  EXPECT_EQ(nccl_.destroyed, 0);
}

TEST_F(CommunicatorTest, AnAbortThatHangsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  nccl_.abort_hangs = true;
  ControlOptions options = test::quick_options();
  options.exit_patience = std::chrono::milliseconds(300);
  EXPECT_EXIT(on_one_rank(options,
                          [&](Communicator& communicator) {
                            communicator.join();
                            nccl_.error = ncclRemoteError;
                            try {
                              communicator.check();
                            } catch (const PeerError&) {
                              communicator.abort();
                            }
                          }),
              testing::ExitedWithCode(201), "stand-in words; the device has not come back");
}

}  // namespace
}  // namespace annulus
