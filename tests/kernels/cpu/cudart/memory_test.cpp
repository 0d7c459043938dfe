// Device memory: limit, alignment, reuse, sharing through the memfd, pinned memory, fills and
// copies.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <algorithm>

#include <cstdint>
#include <random>

#include "kernels/cpu/cudart/memory_share.h"
#include "tests/kernels/cpu/cudart/device_test.h"

namespace annulus::test {
namespace {

class MemoryTest : public DeviceTest {};

TEST_F(MemoryTest, TheLimitIsKeptAndGivenBack) {
  std::size_t free_before, total;
  ASSERT_EQ(cudaMemGetInfo(&free_before, &total), cudaSuccess);
  EXPECT_EQ(total, kDeviceMemory);
  void *most = nullptr, *more = nullptr;
  ASSERT_EQ(cudaMalloc(&most, free_before - 1000), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&more, 1001), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  ASSERT_EQ(cudaFree(most), cudaSuccess);
  std::size_t free_after;
  ASSERT_EQ(cudaMemGetInfo(&free_after, &total), cudaSuccess);
  EXPECT_EQ(free_after, free_before);
}

TEST_F(MemoryTest, FreedPagesGoBackToTheSystem) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 32 << 20), cudaSuccess);
  ASSERT_EQ(cudaMemset(data, 1, 32 << 20), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto range = cpu::shared_range(data);
  ASSERT_TRUE(range);
  struct stat before {
  }, after{};
  ASSERT_EQ(fstat(range->file, &before), 0);
  ASSERT_EQ(cudaFree(data), cudaSuccess);
  ASSERT_EQ(fstat(range->file, &after), 0);
  EXPECT_LE((after.st_blocks - before.st_blocks) * 512, -(31 << 20));
}

TEST_F(MemoryTest, AllocationsAreAlignedAndApart) {
  std::minstd_rand random(7);
  std::vector<std::pair<std::byte*, std::size_t>> living;
  for (int round = 0; round < 2000; ++round) {
    if (living.size() > 50) {
      const std::size_t victim = random() % living.size();
      ASSERT_EQ(cudaFree(living[victim].first), cudaSuccess);
      living.erase(living.begin() + static_cast<long>(victim));
    }
    std::byte* data = nullptr;
    const std::size_t bytes = 1 + random() % 40000;
    ASSERT_EQ(cudaMalloc(&data, bytes), cudaSuccess);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(data) % 256, 0u);
    for (const auto& [other, size] : living)
      ASSERT_TRUE(data + bytes <= other || other + size <= data);
    living.emplace_back(data, bytes);
  }
  for (const auto& [data, bytes] : living) ASSERT_EQ(cudaFree(data), cudaSuccess);
}

TEST_F(MemoryTest, AnotherMappingOfTheFileSeesTheSameBytes) {
  Buffer<float> x(std::vector<float>(5000, 1.f));
  const auto range = cpu::shared_range(x.span().data + 100);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->bytes, 4900 * sizeof(float));
  const std::size_t page = range->offset / 4096 * 4096;
  const std::size_t bytes = range->offset - page + range->bytes;
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, range->file,
                       static_cast<off_t>(page));
  ASSERT_NE(mapping, MAP_FAILED);
  auto* there = reinterpret_cast<float*>(static_cast<std::byte*>(mapping) + (range->offset - page));
  EXPECT_EQ(there[0], 1.f);
  there[0] = 42;
  EXPECT_EQ(x.download()[100], 42);
  munmap(mapping, bytes);
  EXPECT_FALSE(cpu::shared_range(this));
}

TEST_F(MemoryTest, ZeroBytesAndNull) {
  void* data = this;
  EXPECT_EQ(cudaMalloc(&data, 0), cudaSuccess);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault), cudaSuccess);
}

TEST_F(MemoryTest, CopiesAndFillsEveryWay) {
  std::vector<float> host(1000, 2.f);
  Buffer<float> x(host), y(1000);
  ASSERT_EQ(cudaMemcpy(y.span().data, x.span().data, 4000, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(y.download(), host);
  PinnedBuffer<float> pinned(1000);
  ASSERT_EQ(cudaMemcpy(pinned.data(), y.span().data, 4000, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(pinned[999], 2.f);
  ASSERT_EQ(cudaMemset(y.span().data, 0, 2000), cudaSuccess);
  const auto half = y.download();
  EXPECT_EQ(half[499], 0.f);
  EXPECT_EQ(half[500], 2.f);
}

TEST_F(MemoryTest, PointersKnowWhereTheyPoint) {
  Buffer<float> x(10);
  PinnedBuffer<float> pinned(10);
  float pageable = 0;
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, x.span().data + 3), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned.data()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, &pageable), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

}  // namespace
}  // namespace annulus::test
