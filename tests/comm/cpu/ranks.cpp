// The environment is set before the first CUDA call reads it.
#include "tests/comm/cpu/ranks.h"

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace annulus::test {
namespace {

[[maybe_unused]] const bool environment_is_set = [] {
  setenv("ANNULUS_CPU_DEVICES", std::to_string(kMostThreadRanks).c_str(), 1);
  setenv("ANNULUS_CPU_MEMORY", std::to_string(64 << 20).c_str(), 1);
  setenv("ANNULUS_CPU_CHECK", "1", 1);
  return true;
}();

}  // namespace

ncclUniqueId make_id() {
  ncclUniqueId id{};
  EXPECT_NCCL(ncclSuccess, ncclGetUniqueId(&id));
  return id;
}

void on_threads(int ranks, const std::function<void(int rank)>& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      CUDA_CHECK(cudaSetDevice(rank));
      work(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void run_ranks(int world, const std::function<void(Rank& rank)>& work) {
  const ncclUniqueId id = make_id();
  on_threads(world, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, world, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
    const Stream stream;
    Rank self{rank, world, comm, stream};
    work(self);
    if (self.comm == nullptr) return;
    EXPECT_NCCL(ncclSuccess, ncclCommDestroy(self.comm));
  });
}

ncclResult_t wait_for_state_after(ncclResult_t before, ncclComm_t comm) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  ncclResult_t state = before;
  while (state == before && std::chrono::steady_clock::now() < deadline) {
    EXPECT_NCCL(ncclSuccess, ncclCommGetAsyncError(comm, &state));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return state;
}

void NcclTest::SetUp() {
  cudaGetLastError();
  cpu::clear_reports();
}

void NcclTest::TearDown() {
  for (const auto& report : cpu::reports())
    ADD_FAILURE() << "unexpected report: " << report.kind << ": " << report.message;
}

void NcclTest::expect_reports(std::size_t count, const std::string& kind,
                              const std::vector<std::string>& words) {
  const auto reports = cpu::reports();
  cpu::clear_reports();
  EXPECT_EQ(reports.size(), count);
  for (const auto& report : reports) {
    EXPECT_EQ(report.kind, kind);
    for (const std::string& word : words)
      EXPECT_NE(report.message.find(word), std::string::npos)
          << "'" << word << "' is not in: " << report.message;
  }
}

void TransportTest::SetUp() {
  NcclTest::SetUp();
  setenv("NCCL_SHM_DISABLE", is_ring() ? "1" : "0", 1);
}

void TransportTest::TearDown() {
  unsetenv("NCCL_SHM_DISABLE");
  NcclTest::TearDown();
}

std::string transport_test_name(const testing::TestParamInfo<const char*>& info) {
  return std::string(info.param) == "tcp" ? "Tcp" : "SharedMemory";
}

}  // namespace annulus::test
