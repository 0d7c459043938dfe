// The order of additions of sum_ranks, bit by bit: against a loop in rank order, and against a
// literal ring reduce-scatter in which ranks pass chunks to their neighbours.
#include "kernels/sum_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda.h"
#include "kernels/philox.h"
#include "kernels/simt_host.h"

namespace annulus {
namespace {

using Buffers = std::vector<std::vector<float>>;  // [ranks][count]

// Numbers of very different sizes, so that every order of adding them rounds its own way.
Buffers random_buffers(int ranks, std::size_t count) {
  Buffers buffers(ranks, std::vector<float>(count));
  for (int rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < count; ++i) {
      const Uint4 random =
          philox(3, 0, 0, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(i));
      buffers[rank][i] = std::ldexp(uniform(random.x) - 0.5f, static_cast<int>(random.y % 12));
    }
  return buffers;
}

// Patarasuk & Yuan 2009: in step s rank r sends chunk r-1-s to rank r+1, which adds it to its own.
// After ranks-1 steps chunk k is complete at the rank before the one where it started.
std::vector<float> ring_reduce_scatter(Buffers buffers) {
  const int ranks = static_cast<int>(buffers.size());
  const std::size_t count = buffers[0].size();
  const auto chunk_of = [&](int rank, int step) { return (rank - 1 - step + 2 * ranks) % ranks; };
  for (int step = 0; step < ranks - 1; ++step) {
    const Buffers sent = buffers;  // all ranks send at the same time
    for (int rank = 0; rank < ranks; ++rank) {
      const int receiver = (rank + 1) % ranks, chunk = chunk_of(rank, step);
      for (std::size_t i = ring_chunk_begin(count, ranks, chunk);
           i < ring_chunk_begin(count, ranks, chunk + 1); ++i)
        buffers[receiver][i] = sent[rank][i] + buffers[receiver][i];
    }
  }
  std::vector<float> sums(count);
  for (int chunk = 0; chunk < ranks; ++chunk) {
    const int last_rank = (ring_first_rank(ranks, chunk) + ranks - 1) % ranks;
    for (std::size_t i = ring_chunk_begin(count, ranks, chunk);
         i < ring_chunk_begin(count, ranks, chunk + 1); ++i)
      sums[i] = buffers[last_rank][i];
  }
  return sums;
}

std::vector<float> sum_in_rank_order(const Buffers& buffers) {
  std::vector<float> sums = buffers[0];
  for (std::size_t rank = 1; rank < buffers.size(); ++rank)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += buffers[rank][i];
  return sums;
}

std::vector<float> sum_on_device(SumOrder order, const Buffers& buffers) {
  std::vector<float> flat;
  for (const std::vector<float>& buffer : buffers)
    flat.insert(flat.end(), buffer.begin(), buffer.end());
  const Stream stream;
  const Buffer<float> input(flat), output(buffers[0].size());
  sum_ranks(stream.get(), order, static_cast<int>(buffers.size()), buffers.front().size(),
            input.cspan(), output.span());
  stream.synchronize();
  return output.download();
}

// Fewer elements than ranks, chunks of unequal size, chunk borders inside the tiles of the CPU
// form.
TEST(SumRanks, OrderIsThatOfTheAllReduce) {
  for (int ranks : {1, 2, 3, 4, 16}) {
    for (std::size_t count : {1, 7, 100, 9001}) {
      const Buffers buffers = random_buffers(ranks, count);
      EXPECT_EQ(sum_on_device(SumOrder::rank, buffers), sum_in_rank_order(buffers))
          << ranks << " ranks, " << count << " elements";
      EXPECT_EQ(sum_on_device(SumOrder::ring, buffers), ring_reduce_scatter(buffers))
          << ranks << " ranks, " << count << " elements";
    }
  }
}

TEST(SumRanks, TheEmulatedKernelHasTheSameOrder) {
  const Buffers buffers = random_buffers(5, 9001);
  simt::use_cpu_forms(false);
  const std::vector<float> in_rank_order = sum_on_device(SumOrder::rank, buffers);
  const std::vector<float> in_ring_order = sum_on_device(SumOrder::ring, buffers);
  simt::use_cpu_forms(true);
  EXPECT_EQ(in_rank_order, sum_in_rank_order(buffers));
  EXPECT_EQ(in_ring_order, ring_reduce_scatter(buffers));
}

TEST(SumRanks, TheTwoOrdersRoundDifferently) {
  const Buffers buffers = random_buffers(4, 1000);
  EXPECT_NE(sum_in_rank_order(buffers), ring_reduce_scatter(buffers));
}

}  // namespace
}  // namespace annulus
