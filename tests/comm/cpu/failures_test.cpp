// What goes wrong between ranks of one process: calls that do not match, ranks that never come,
// arguments that are refused, aborts and ends at the wrong time.
#include <chrono>
#include <thread>
#include <vector>

#include "tests/comm/cpu/ranks.h"

namespace annulus::test {
namespace {

using namespace std::chrono_literals;

class Failures : public TransportTest {};

// Every rank learns of it, with both calls and both ranks.
void expect_mismatch(int world, const std::function<void(Rank& self, float* data)>& call,
                     const std::vector<std::string>& words) {
  run_ranks(world, [&](Rank& self) {
    Buffer<float> data(std::vector<float>(4'096, 1.f));
    call(self, data.span().data);
    cudaStreamSynchronize(self.stream.get());
    EXPECT_EQ(wait_for_state_after(ncclSuccess, self.comm), ncclInvalidUsage);
    const std::string message = ncclGetLastError(self.comm);
    for (const std::string& word : words)
      EXPECT_NE(message.find(word), std::string::npos) << "'" << word << "' is not in: " << message;
    call(self, data.span().data);  // returns the error instead of hanging
    EXPECT_NCCL(ncclSuccess, ncclCommAbort(self.comm));
    self.comm = nullptr;
  });
}

TEST_P(Failures, DifferentCountsShowBothCalls) {
  const std::vector<std::string> words = {"count 100,", "count 101,", "rank 0", "rank 1"};
  expect_mismatch(
      2,
      [](Rank& self, float* data) {
        ncclAllReduce(data, data, self.rank == 0 ? 100 : 101, ncclFloat32, ncclSum, self.comm,
                      self.stream.get());
      },
      words);
  expect_reports(2, "collective mismatch", words);
}

TEST_P(Failures, ALargeCallMeetsASmallOne) {
  const std::vector<std::string> words = {"count 4096,", "count 1,"};
  expect_mismatch(
      3,
      [](Rank& self, float* data) {
        ncclAllReduce(data, data, self.rank == 2 ? 1 : 4'096, ncclFloat32, ncclSum, self.comm,
                      self.stream.get());
      },
      words);
  expect_reports(3, "collective mismatch", words);
}

TEST_P(Failures, DifferentTypesOpsRootsAndCollectives) {
  const auto different = [](const std::vector<std::string>& words, const auto& call) {
    expect_mismatch(2, call, words);
    expect_reports(2, "collective mismatch", words);
  };
  different({"ncclFloat32", "ncclInt32"}, [](Rank& self, float* data) {
    ncclAllReduce(data, data, 8, self.rank == 0 ? ncclFloat32 : ncclInt32, ncclSum, self.comm,
                  self.stream.get());
  });
  different({"ncclSum", "ncclAvg"}, [](Rank& self, float* data) {
    ncclAllReduce(data, data, 8, ncclFloat32, self.rank == 0 ? ncclSum : ncclAvg, self.comm,
                  self.stream.get());
  });
  different({"root 0", "root 1"}, [](Rank& self, float* data) {
    ncclBroadcast(data, data, 8, ncclFloat32, self.rank, self.comm, self.stream.get());
  });
  different({"ncclBroadcast(", "ncclAllReduce("}, [](Rank& self, float* data) {
    if (self.rank == 0)
      ncclBroadcast(data, data, 8, ncclFloat32, 0, self.comm, self.stream.get());
    else
      ncclAllReduce(data, data, 8, ncclFloat32, ncclSum, self.comm, self.stream.get());
  });
}

// Also where the collective runs inside the call of another thread, as in eager mode.
TEST_P(Failures, AbortEndsACollectiveThatWaits) {
  run_ranks(2, [](Rank& self) {
    if (self.rank == 1) {
      EXPECT_EQ(wait_for_state_after(ncclSuccess, self.comm), ncclRemoteError);
      return;
    }
    Buffer<float> data(100'000);
    std::thread other([&] {
      std::this_thread::sleep_for(100ms);
      EXPECT_NCCL(ncclSuccess, ncclCommAbort(self.comm));
    });
    ncclAllReduce(data.span().data, data.span().data, data.size(), ncclFloat32, ncclSum, self.comm,
                  self.stream.get());
    self.stream.synchronize();
    other.join();
    self.comm = nullptr;
  });
}

TEST_P(Failures, ARankThatLeftIsNotWaitedFor) {
  run_ranks(2, [](Rank& self) {
    if (self.rank == 1) return;
    Buffer<float> data(100);
    ncclAllReduce(data.span().data, data.span().data, data.size(), ncclFloat32, ncclSum, self.comm,
                  self.stream.get());
    self.stream.synchronize();
    EXPECT_EQ(wait_for_state_after(ncclSuccess, self.comm), ncclRemoteError);
  });
}

TEST_P(Failures, DestroyWaitsForQueuedWork) {
  const ncclUniqueId id = make_id();
  on_threads(2, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
    const Stream stream;
    Buffer<float> data(std::vector<float>(50'000, 1.f));
    if (rank == 1) std::this_thread::sleep_for(50ms);
    for (int i = 0; i < 5; ++i) {
      EXPECT_NCCL(ncclSuccess, ncclAllReduce(data.span().data, data.span().data, data.size(),
                                             ncclFloat32, ncclSum, comm, stream.get()));
    }
    EXPECT_NCCL(ncclSuccess, ncclCommFinalize(comm));
    EXPECT_NCCL(ncclSuccess, ncclCommDestroy(comm));
    EXPECT_EQ(data.span().data[49'999], 32.f);  // before the host waits for the stream
    stream.synchronize();
  });
}

TEST_P(Failures, NonBlockingInitIsInProgressUntilAllAreThere) {
  const ncclUniqueId id = make_id();
  on_threads(2, [&](int rank) {
    if (rank == 1) std::this_thread::sleep_for(100ms);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, rank, &config), ncclInProgress);
    const Stream stream;
    Buffer<float> data(std::vector<float>(10, 1.f));
    if (rank == 0) {
      EXPECT_EQ(ncclAllReduce(data.span().data, data.span().data, 10, ncclFloat32, ncclSum, comm,
                              stream.get()),
                ncclInvalidArgument);
    }
    EXPECT_EQ(wait_for_state_after(ncclInProgress, comm), ncclSuccess);
    EXPECT_NCCL(ncclSuccess, ncclAllReduce(data.span().data, data.span().data, 10, ncclFloat32,
                                           ncclSum, comm, stream.get()));
    stream.synchronize();
    EXPECT_EQ(data.download()[9], 2.f);
    EXPECT_NCCL(ncclSuccess, ncclCommDestroy(comm));
  });
}

INSTANTIATE_TEST_SUITE_P(Nccl, Failures, testing::Values("shared memory", "tcp"),
                         transport_test_name);

class Bootstraps : public NcclTest {
 protected:
  void TearDown() override {
    unsetenv("ANNULUS_CPU_NCCL_TIMEOUT_MS");
    NcclTest::TearDown();
  }
};

TEST_F(Bootstraps, ARankThatNeverComesIsNamed) {
  setenv("ANNULUS_CPU_NCCL_TIMEOUT_MS", "300", 1);
  const ncclUniqueId id = make_id();
  on_threads(3, [&](int rank) {
    if (rank == 1) return;
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, 3, id, rank), ncclRemoteError);
    EXPECT_EQ(comm, nullptr);
    const std::string message = ncclGetLastError(nullptr);
    EXPECT_NE(message.find("rank 1 of 3 did not come within 300 ms"), std::string::npos) << message;
  });
}

TEST_F(Bootstraps, AbortDoesNotWaitForRanksThatNeverCome) {
  setenv("ANNULUS_CPU_NCCL_TIMEOUT_MS", "5000", 1);
  const ncclUniqueId id = make_id();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  EXPECT_NCCL(ncclSuccess, ncclCommAbort(comm));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
}

TEST_F(Bootstraps, AnIdWhoseProcessIsGoneFailsAtTheDeadline) {
  const ncclUniqueId id = make_id();
  on_threads(1, [&](int rank) {  // uses the id up
    ncclComm_t comm = nullptr;
    EXPECT_NCCL(ncclSuccess, ncclCommInitRank(&comm, 1, id, rank));
    EXPECT_NCCL(ncclSuccess, ncclCommDestroy(comm));
  });
  setenv("ANNULUS_CPU_NCCL_TIMEOUT_MS", "200", 1);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclRemoteError);
}

void expect_refusal(const std::function<int(int rank)>& world,
                    const std::function<int(int rank)>& number,
                    const std::function<int(int rank)>& device, const std::string& words) {
  const ncclUniqueId id = make_id();
  on_threads(2, [&](int rank) {
    CUDA_CHECK(cudaSetDevice(device(rank)));
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, world(rank), id, number(rank)), ncclInvalidUsage);
    const std::string message = ncclGetLastError(nullptr);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  });
}

TEST_F(Bootstraps, RanksThatContradictEachOtherAllLearnIt) {
  const auto itself = [](int rank) { return rank; };
  const auto two = [](int) { return 2; };
  expect_refusal([](int rank) { return 2 + rank; }, itself, itself, "says 3");
  expect_refusal(
      two, [](int) { return 0; }, itself, "rank 0 came twice");
  expect_refusal(
      two, itself, [](int) { return 0; }, "on one device (0)");
}

TEST_F(Bootstraps, ArgumentsAreChecked) {
  int version = 0;
  EXPECT_NCCL(ncclSuccess, ncclGetVersion(&version));
  EXPECT_EQ(version, 22809);
  EXPECT_STREQ(ncclGetErrorString(ncclSuccess), "no error");
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidArgument);  // no id of ours
  EXPECT_EQ(ncclCommInitRank(&comm, 0, make_id(), 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, make_id(), 2), ncclInvalidArgument);
  ncclConfig_t config{};
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, make_id(), 0, &config), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST_F(Bootstraps, CollectivesCheckTheirArguments) {
  run_ranks(1, [](Rank& self) {
    Buffer<float> data(16);
    float* const x = data.span().data;
    float host[16] = {};
    const auto all_reduce = [&](void* buffer, std::size_t count, int type, int op) {
      return ncclAllReduce(buffer, buffer, count, static_cast<ncclDataType_t>(type),
                           static_cast<ncclRedOp_t>(op), self.comm, self.stream.get());
    };
    EXPECT_EQ(all_reduce(x, 16, ncclFloat32, ncclMax), ncclInvalidArgument);
    EXPECT_EQ(all_reduce(x, 16, ncclFloat8e4m3, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(all_reduce(x, 17, ncclFloat32, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(all_reduce(host, 16, ncclFloat32, ncclSum), ncclInvalidArgument);
    EXPECT_EQ(ncclBroadcast(x, x, 16, ncclFloat32, 1, self.comm, self.stream.get()),
              ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(x, x, 16, ncclFloat32, ncclSum, nullptr, self.stream.get()),
              ncclInvalidArgument);
  });
}

}  // namespace
}  // namespace annulus::test
