// Collectives as work on streams: groups, and what the device's checker sees of them.
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/comm/cpu/ranks.h"

namespace annulus::test {
namespace {

class Streams : public TransportTest {};

TEST_P(Streams, AGroupIsIssuedAtItsEnd) {
  run_ranks(2, [](Rank& self) {
    Buffer<float> a(std::vector<float>(10, 1.f)), b(std::vector<float>(10'000, 2.f));
    EXPECT_NCCL(ncclSuccess, ncclGroupStart());
    EXPECT_NCCL(ncclSuccess, ncclGroupStart());
    for (const Buffer<float>* buffer : {&a, &b}) {
      float* data = buffer->span().data;
      EXPECT_NCCL(ncclSuccess, ncclAllReduce(data, data, buffer->size(), ncclFloat32, ncclSum,
                                             self.comm, self.stream.get()));
    }
    EXPECT_NCCL(ncclSuccess, ncclGroupEnd());
    EXPECT_NCCL(ncclSuccess, ncclGroupEnd());
    self.stream.synchronize();
    EXPECT_EQ(a.download()[9], 2.f);
    EXPECT_EQ(b.download()[9'999], 4.f);
  });
}

TEST_P(Streams, AnErrorInAGroupIsTheGroupsError) {
  run_ranks(1, [](Rank& self) {
    EXPECT_NCCL(ncclSuccess, ncclGroupStart());
    EXPECT_EQ(
        ncclAllReduce(nullptr, nullptr, 1, ncclFloat32, ncclSum, self.comm, self.stream.get()),
        ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  });
}

// One thread that holds two ranks: streams with threads run both, other modes must say no.
TEST_P(Streams, OneThreadWithTwoCommunicators) {
  const char* mode = std::getenv("ANNULUS_CPU_MODE");
  const bool threads = mode != nullptr && std::string(mode) == "threads";
  const ncclUniqueId id = make_id();
  std::array<ncclComm_t, 2> comms{};
  EXPECT_NCCL(ncclSuccess, ncclGroupStart());
  for (int rank = 0; rank < 2; ++rank) {
    CUDA_CHECK(cudaSetDevice(rank));
    EXPECT_NCCL(ncclSuccess, ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 2, id, rank));
  }
  EXPECT_NCCL(ncclSuccess, ncclGroupEnd());

  std::vector<Stream> streams;
  std::vector<Buffer<float>> buffers;
  EXPECT_NCCL(ncclSuccess, ncclGroupStart());
  for (int rank = 0; rank < 2; ++rank) {
    CUDA_CHECK(cudaSetDevice(rank));
    streams.emplace_back();
    buffers.emplace_back(std::vector<float>(5'000, 1.f));
    float* data = buffers.back().span().data;
    EXPECT_NCCL(ncclSuccess,
                ncclAllReduce(data, data, 5'000, ncclFloat32, ncclSum,
                              comms[static_cast<std::size_t>(rank)], streams.back().get()));
  }
  EXPECT_NCCL(threads ? ncclSuccess : ncclInvalidUsage, ncclGroupEnd());
  for (std::size_t rank = 0; rank < 2; ++rank) {
    streams[rank].synchronize();
    EXPECT_EQ(buffers[rank].download()[4'999], threads ? 2.f : 1.f);
  }
  for (const ncclComm_t comm : comms) EXPECT_NCCL(ncclSuccess, ncclCommDestroy(comm));
  CUDA_CHECK(cudaSetDevice(0));
}

void raise_flag(void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }

// Compute on one stream, communication on another, joined by an event: no report. Without it the
// checker names both calls. The fill is over by then either way, but only an event says so.
void fill_then_reduce(Rank& self, bool wait_for_fill) {
  Buffer<float> data(5'000);
  const Stream compute;
  const Event filled;
  std::atomic<bool> is_filled = false;
  CUDA_CHECK(cudaMemsetAsync(data.span().data, 0, data.bytes(), compute.get()));
  filled.record(compute);
  CUDA_CHECK(cudaLaunchHostFunc(compute.get(), raise_flag, &is_filled));
  while (!is_filled) std::this_thread::yield();
  if (wait_for_fill) self.stream.wait(filled);
  EXPECT_NCCL(ncclSuccess, ncclAllReduce(data.span().data, data.span().data, data.size(),
                                         ncclFloat32, ncclSum, self.comm, self.stream.get()));
  self.stream.synchronize();
  compute.synchronize();
}

TEST_P(Streams, TheCheckerSeesCollectives) {
  run_ranks(2, [](Rank& self) { fill_then_reduce(self, true); });
  EXPECT_EQ(cpu::report_count(), 0u);
  run_ranks(2, [](Rank& self) { fill_then_reduce(self, self.rank == 0); });
  const auto reports = cpu::reports();
  cpu::clear_reports();
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports[0].kind, "race");
  EXPECT_NE(reports[0].message.find("ncclAllReduce"), std::string::npos) << reports[0].message;
  EXPECT_NE(reports[0].message.find("cudaMemset"), std::string::npos) << reports[0].message;
}

void sum(Rank& self, const Buffer<std::int32_t>& values, std::size_t count, const Stream& stream) {
  EXPECT_NCCL(ncclSuccess, ncclAllReduce(values.span().data, values.span().data, count, ncclInt32,
                                         ncclSum, self.comm, stream.get()));
}

// On two streams of one capture, between which only the communicator makes an order.
TEST_P(Streams, CapturedCallsKeepTheirOrder) {
  run_ranks(3, [](Rank& self) {
    constexpr std::size_t kLarge = 6'000;
    const Buffer<std::int32_t> values(std::vector<std::int32_t>(kLarge, 1));
    const Stream other;
    const Event forked, joined;
    Capture capture(self.stream);
    forked.record(self.stream);
    other.wait(forked);
    for (int i = 0; i < 6; ++i)
      sum(self, values, i % 3 == 0 ? kLarge : 10, i % 2 == 0 ? other : self.stream);
    joined.record(other);
    self.stream.wait(joined);
    const GraphExec step = capture.finish();
    for (int launch = 0; launch < 3; ++launch) step.launch(self.stream);
    self.stream.synchronize();
    const std::vector<std::int32_t> result = values.download();
    EXPECT_EQ(result[9], 387'420'489);   // 3^18
    EXPECT_EQ(result[kLarge - 1], 729);  // 3^6
  });
}

TEST_P(Streams, AGraphThatOutlivesItsCommunicatorIsNamed) {
  for (const bool outlives : {false, true}) {
    GraphExec step;
    run_ranks(1, [&](Rank& self) {
      const Buffer<std::int32_t> values(std::vector<std::int32_t>(10, 1));
      Capture capture(self.stream);
      sum(self, values, 10, self.stream);
      step = capture.finish();
      step.launch(self.stream);
      self.stream.synchronize();
      if (!outlives) step = GraphExec();
    });
    if (outlives) expect_reports(1, "graph outlives communicator", {"destroy it first"});
    EXPECT_EQ(cpu::report_count(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Nccl, Streams, testing::Values("shared memory", "tcp"),
                         transport_test_name);

}  // namespace
}  // namespace annulus::test
