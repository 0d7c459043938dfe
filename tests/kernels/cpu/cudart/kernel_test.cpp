// Launches: elementwise pieces, emulated blocks, CPU forms, limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/simt.h"
#include "tests/kernels/cpu/cudart/device_test.h"
#include "tests/kernels/cpu/cudart/test_kernels.h"

namespace annulus::test {
namespace {

class KernelTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    simt::use_cpu_forms(true);
  }
  Stream stream;
};

TEST_F(KernelTest, ElementwiseLoopsVisitEachElementOnce) {
  for (const bool pieces : {true, false}) {
    simt::use_cpu_forms(pieces);
    for (const std::size_t n : {1u, 7u, 63u, 64u, 65u, 255u, 16384u, 32767u, 32769u, 100001u}) {
      Buffer<std::uint32_t> counts(std::vector<std::uint32_t>(n, 0));
      count_visits(stream.get(), counts.span());
      stream.synchronize();
      const auto host = counts.download();
      EXPECT_EQ(std::count(host.begin(), host.end(), 1u), static_cast<long>(n)) << n;
    }
  }
}

TEST_F(KernelTest, PiecesAndEmulationGiveTheSameBits) {
  std::vector<float> host(70001);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = 0.37f * static_cast<float>(i % 1013) - 99;
  Buffer<float> x(host), pieces(host.size()), emulated(host.size());
  polynomial(stream.get(), x.cspan(), pieces.span());
  stream.synchronize();
  simt::use_cpu_forms(false);
  polynomial(stream.get(), x.cspan(), emulated.span());
  stream.synchronize();
  EXPECT_EQ(pieces.download(), emulated.download());
}

TEST_F(KernelTest, BlocksReduceWithBarriersAndWithShuffles) {
  std::vector<float> host(3 * 1000);
  std::iota(host.begin(), host.end(), 0.f);
  Buffer<float> x(host), sums(3);
  const std::vector<float> wanted = {499500, 1499500, 2499500};
  for (const unsigned int threads : {32u, 128u, 512u}) {
    block_sums(stream.get(), threads, x.cspan(), sums.span());
    stream.synchronize();
    EXPECT_EQ(sums.download(), wanted) << threads;
    warp_sums(stream.get(), threads, x.cspan(), sums.span());
    stream.synchronize();
    EXPECT_EQ(sums.download(), wanted) << threads;
  }
}

TEST_F(KernelTest, ShufflesFollowTheirDefinitions) {
  Buffer<std::uint32_t> y(160);
  shuffles(stream.get(), y.span());
  stream.synchronize();
  const auto host = y.download();
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(host[lane], lane ^ 5);
    EXPECT_EQ(host[32 + lane], lane + 3 < 32 ? lane + 3 : lane);
    EXPECT_EQ(host[64 + lane], lane >= 3 ? lane - 3 : lane);
    EXPECT_EQ(host[96 + lane], 17u);
    EXPECT_EQ(host[128 + lane], 0xAAAAAAAAu);
  }
}

TEST_F(KernelTest, PartOfAWarpMayShuffleAlone) {
  Buffer<std::uint32_t> y(40);
  partial_warp(stream.get(), y.span());
  stream.synchronize();
  const auto host = y.download();
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(host[i], i < 8 ? 7 - i : i);
}

TEST_F(KernelTest, BuiltInVariablesNumberThreadsInThreeDimensions) {
  Buffer<std::uint32_t> y(2 * 3 * 4 * 5 * 2 * 3);
  thread_numbers(stream.get(), dim3(2, 3, 4), dim3(5, 2, 3), y.span());
  stream.synchronize();
  std::vector<std::uint32_t> wanted(y.size());
  std::iota(wanted.begin(), wanted.end(), 0u);
  EXPECT_EQ(y.download(), wanted);
}

TEST_F(KernelTest, AtomicsAddOverBlocks) {
  Buffer<std::uint32_t> counts(std::vector<std::uint32_t>{0});
  Buffer<float> total(std::vector<float>{0});
  atomics(stream.get(), 10, counts.span(), total.span());
  stream.synchronize();
  EXPECT_EQ(counts.download()[0], 640u);
  EXPECT_EQ(total.download()[0], 320.f);
}

TEST_F(KernelTest, DivergentBarrier) {
  Buffer<float> y(64);
  diverge(stream.get(), 64, 5, y.span());
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorLaunchFailure);
  expect_report("divergent barrier",
                {"diverge_kernel", "5 of 64 threads wait at __syncthreads", "59 have returned"});
  diverge(stream.get(), 64, 64, y.span());  // all of them is right, and the fibers are whole
  stream.synchronize();
}

TEST_F(KernelTest, BarriersAreForEmulatedKernels) {
  Buffer<float> y(64);
  two_loops(stream.get(), y.span());
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorLaunchFailure);
  expect_report("not elementwise", {"two_loops_kernel", "2 grid_stride loops"});
}

TEST_F(KernelTest, ACpuFormRunsInsteadOfTheEmulationUnlessRefused) {
  Buffer<float> y(1);
  two_forms(stream.get(), y.span());
  stream.synchronize();
  EXPECT_EQ(y.download()[0], 1);
  simt::use_cpu_forms(false);
  two_forms(stream.get(), y.span());
  stream.synchronize();
  EXPECT_EQ(y.download()[0], 2);
}

TEST_F(KernelTest, LimitsAreThoseOfAGpu) {
  empty(stream.get(), dim3(70000, 1, 1), 1, 0);
  empty(stream.get(), 1, 1024, 227 << 10);
  EXPECT_THROW(empty(stream.get(), 1, 1025, 0), DeviceError);
  EXPECT_THROW(empty(stream.get(), 1, dim3(64, 32), 0), DeviceError);
  EXPECT_THROW(empty(stream.get(), dim3(1, 65536), 1, 0), DeviceError);
  EXPECT_THROW(empty(stream.get(), 0, 1, 0), DeviceError);
  EXPECT_THROW(empty(stream.get(), 1, 1, (227 << 10) + 1), DeviceError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // the exception has reported it
}

TEST_F(KernelTest, AnErrorNamesTheKernel) {
  try {
    empty(stream.get(), 1, 1025, 0);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("empty_kernel"), std::string::npos) << error.what();
  }
  Buffer<float> y(1);
  try {
    unregistered(stream.get(), y.span());
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("SIMT_KERNEL"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace annulus::test
