// The checker: every fault planted here must be reported by its kind, with the names and bytes that
// a reader needs; the same work done right must give no report.
#include <gtest/gtest.h>

#include "kernels/cpu/cudart/device.h"
#include "tests/kernels/cpu/cudart/device_test.h"
#include "tests/kernels/cpu/cudart/test_kernels.h"

namespace annulus::test {
namespace {

constexpr std::size_t kCount = 1000;

class CheckerTest : public DeviceTest {
 protected:
  Stream first, second;
  Buffer<float> x{kCount}, y{kCount};
};

TEST_F(CheckerTest, MissingEventWaitIsARace) {
  declare_write(first.get(), x.span());
  declare_read(second.get(), x.cspan());
  expect_report("race", {"reading_kernel", "writing_kernel", "reads bytes [0, 4000)",
                         "(4000 bytes)", "without an event or wait"});
}

TEST_F(CheckerTest, AnEventOrdersStreams) {
  Event filled;
  fill(first.get(), 1, x.span());
  filled.record(first);
  second.wait(filled);
  scale(second.get(), 2, x.cspan(), y.span());
}

TEST_F(CheckerTest, AnEventRecordedTooEarlyDoesNotOrder) {
  Event early;
  early.record(first);
  declare_write(first.get(), x.span());
  second.wait(early);
  declare_read(second.get(), x.cspan());
  expect_report("race", {"writing_kernel"});
}

TEST_F(CheckerTest, OrderIsTransitive) {
  Stream third;
  Event filled, passed_on;
  fill(first.get(), 1, x.span());
  filled.record(first);
  second.wait(filled);
  passed_on.record(second);
  third.wait(passed_on);
  scale(third.get(), 2, x.cspan(), y.span());
}

TEST_F(CheckerTest, TheHostsWaitOrdersStreams) {
  fill(first.get(), 1, x.span());
  first.synchronize();
  scale(second.get(), 2, x.cspan(), y.span());
}

TEST_F(CheckerTest, WaitingForADestroyedStreamDoesNotOrderTheOneInItsPlace) {
  {
    Stream old;
    Event written;
    for (int i = 0; i < 5; ++i) declare_write(old.get(), x.span());
    written.record(old);
    second.wait(written);
  }
  Stream fresh;
  declare_write(fresh.get(), y.span());
  declare_read(second.get(), y.cspan());
  expect_report("race", {"reading_kernel", "writing_kernel"});
}

TEST_F(CheckerTest, WriteAfterReadIsARace) {
  declare_read(first.get(), x.cspan());
  declare_write(second.get(), x.span());
  expect_report("race", {"writing_kernel", "writes bytes", "which reads them"});
}

TEST_F(CheckerTest, ReadsBesideEachOtherAndWritesApartAreNoRace) {
  fill(first.get(), 1, x.span());
  first.synchronize();
  Buffer<float> z(kCount);
  scale(first.get(), 2, x.cspan(), y.span());
  scale(second.get(), 2, x.cspan(), z.span());
  first.synchronize();
  second.synchronize();
  fill(first.get(), 1, x.span().subspan(0, 500));
  fill(second.get(), 2, x.span().subspan(500, 500));
}

TEST_F(CheckerTest, ARaceNamesTheBytesThatOverlap) {
  declare_write(first.get(), x.span().subspan(0, 600));
  declare_write(second.get(), x.span().subspan(500, 500));
  expect_report("race", {"bytes [2000, 2400)"});
}

TEST_F(CheckerTest, ABlockingCopyOnTheDefaultStreamDoesNotWaitForANonBlockingStream) {
  declare_write(first.get(), x.span());
  std::vector<float> host(kCount);
  EXPECT_EQ(cudaMemcpy(host.data(), x.span().data, 4000, cudaMemcpyDeviceToHost), cudaSuccess);
  expect_report("race", {"cudaMemcpy", "writing_kernel"});
}

TEST_F(CheckerTest, PinnedMemoryIsOrderedToo) {
  PinnedBuffer<float> host(kCount);
  cudaMemcpyAsync(host.data(), x.span().data, 4000, cudaMemcpyDeviceToHost, first.get());
  declare_read(second.get(), {host.data(), kCount});
  expect_report("race", {"reading_kernel", "cudaMemcpyAsync", "pinned allocation"});
}

TEST_F(CheckerTest, HostPointerToAKernel) {
  std::vector<float> host(kCount);
  EXPECT_THROW(scale(first.get(), 2, {host.data(), kCount}, y.span()), DeviceError);
  expect_report("host pointer", {"scale_kernel", "reads 4000 bytes"});
}

TEST_F(CheckerTest, ACopyInTheWrongDirection) {
  std::vector<float> host(kCount);
  EXPECT_EQ(cudaMemcpy(host.data(), x.span().data, 4000, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  expect_report("host pointer", {"cudaMemcpy"});
}

TEST_F(CheckerTest, SpanLongerThanItsAllocation) {
  EXPECT_THROW(fill(first.get(), 1, {x.span().data + 1, kCount}), DeviceError);
  expect_report("out of bounds", {"fill_kernel", "writes bytes [4, 4004)", "(4000 bytes)"});
}

TEST_F(CheckerTest, CopyBeyondAnAllocation) {
  std::vector<float> host(kCount + 1);
  EXPECT_EQ(cudaMemcpy(x.span().data, host.data(), 4004, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  expect_report("out of bounds", {"cudaMemcpy", "[0, 4004)"});
}

TEST_F(CheckerTest, WriteBehindAnAllocationPastEverySpanCheck) {
  write_behind(first.get(), 2, x.span());
  EXPECT_EQ(cudaStreamSynchronize(first.get()), cudaSuccess);
  expect_report("out of bounds", {"write_behind_kernel", "behind the end"});
}

TEST_F(CheckerTest, UseAfterFree) {
  Buffer<float> z(kCount);
  const Span<float> stale = z.span();
  z = Buffer<float>();
  EXPECT_THROW(fill(first.get(), 1, stale), DeviceError);
  expect_report("use after free", {"fill_kernel", "freed"});
}

TEST_F(CheckerTest, UseAfterFreeIsSeenAlsoAfterTheNextAllocation) {
  Buffer<float> z(kCount);
  const Span<float> stale = z.span();
  z = Buffer<float>();
  Buffer<float> other(kCount);
  EXPECT_THROW(fill(first.get(), 1, stale), DeviceError);
  expect_report("use after free", {"fill_kernel"});
}

TEST_F(CheckerTest, FreeWhileInUse) {
  Buffer<float> z(kCount);
  fill(first.get(), 1, z.span());
  z = Buffer<float>();
  expect_report("free while in use", {"cudaFree", "fill_kernel"});
}

TEST_F(CheckerTest, DoubleFree) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 100), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  expect_report("double free", {"cudaFree", "(100 bytes)"});
}

TEST_F(CheckerTest, BadFree) {
  EXPECT_EQ(cudaFree(x.span().data + 1), cudaErrorInvalidValue);
  expect_report("bad free", {"cudaFree"});
  EXPECT_EQ(cudaFreeHost(x.span().data), cudaErrorInvalidValue);
  expect_report("bad free", {"cudaFreeHost"});
}

TEST_F(CheckerTest, WaitOnAnEventThatWasNeverRecorded) {
  Event never;
  second.wait(never);
  expect_report("wait on nothing", {"never recorded"});
}

TEST_F(CheckerTest, PageableAsynchronousCopy) {
  std::vector<float> host(kCount, 3.f);
  EXPECT_EQ(cudaMemcpyAsync(x.span().data, host.data(), 4000, cudaMemcpyHostToDevice, first.get()),
            cudaSuccess);
  expect_report("pageable copy", {"cudaMemcpyAsync", "cudaMallocHost"});
  host.assign(kCount, 4.f);  // CUDA has read it by now
  first.synchronize();
  EXPECT_EQ(x.download()[0], 3.f);
}

TEST_F(CheckerTest, FreshMemoryIsNotANumber) {
  Buffer<float> z(kCount);
  for (const float value : z.download()) EXPECT_NE(value, value);
}

TEST_F(CheckerTest, LibraryCallsAreCheckedLikeKernels) {
  declare_write(first.get(), x.span());
  EXPECT_EQ(cpu::enqueue(second.get(), "a library call", {{x.span().data, 4000, true}}, [] {}),
            cudaSuccess);
  expect_report("race", {"a library call", "writing_kernel"});
  EXPECT_TRUE(cpu::is_device_memory(x.span().data, 4000));
  EXPECT_FALSE(cpu::is_device_memory(x.span().data, 4001));
  EXPECT_FALSE(cpu::is_device_memory(this, 1));
}

}  // namespace
}  // namespace annulus::test
