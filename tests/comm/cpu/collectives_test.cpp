// All-reduce and broadcast between threads: exact bits for every type, size, number of ranks and
// transport, against sums written down in the order that each transport promises.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <vector>

#include "comm/cpu/transport_name.h"
#include "kernels/sum_ranks.h"
#include "tests/comm/cpu/expected_sums.h"
#include "tests/comm/cpu/ranks.h"

namespace annulus::test {
namespace {

// A buffer that serves messages of several sizes. It is made once per test: cudaFree waits for all
// devices, and so for collectives that wait for the rank which frees.
template <class T>
class Values {
 public:
  explicit Values(std::size_t capacity) : buffer_(capacity) {}
  T* data() const { return buffer_.span().data; }
  void set(const std::vector<T>& values) {
    CUDA_CHECK(
        cudaMemcpy(data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> get(std::size_t count) const {
    std::vector<T> values = buffer_.download();
    values.resize(count);
    return values;
  }

 private:
  Buffer<T> buffer_;
};

class Collectives : public TransportTest {
 protected:
  template <class T>
  static void expect_sums(ncclDataType_t type, int world) {
    std::vector<std::vector<T>> expected;
    for (const std::size_t count : kCounts)
      expected.push_back(expected_sum<T>(is_ring(), world, count));
    run_ranks(world, [&](Rank& self) {
      Values<T> in(kCounts.back()), out(kCounts.back());
      for (std::size_t which = 0; which < kCounts.size(); ++which) {
        const std::size_t count = kCounts[which];
        const std::vector<T> mine = inputs_of<T>(self.rank, count);
        in.set(mine);
        EXPECT_NCCL(ncclSuccess, ncclAllReduce(in.data(), out.data(), count, type, ncclSum,
                                               self.comm, self.stream.get()));
        self.stream.synchronize();
        EXPECT_TRUE(same_bits(out.get(count), expected[which])) << count << " of type " << type;
        EXPECT_TRUE(same_bits(in.get(count), mine));
        EXPECT_NCCL(ncclSuccess, ncclAllReduce(in.data(), in.data(), count, type, ncclSum,
                                               self.comm, self.stream.get()));
        self.stream.synchronize();
        EXPECT_TRUE(same_bits(in.get(count), expected[which])) << count << " in place";
      }
    });
  }
};

TEST_P(Collectives, FloatsSumInTheOrderOfTheTransport) {
  for (const int world : {1, 2, 3, 4, 5}) expect_sums<float>(ncclFloat32, world);
}

TEST_P(Collectives, HalfTypesRoundAfterEachAdd) {
  for (const int world : {2, 3}) {
    expect_sums<__half>(ncclFloat16, world);
    expect_sums<__nv_bfloat16>(ncclBfloat16, world);
  }
}

TEST_P(Collectives, DoublesAndIntegersOfAllSizes) {
  expect_sums<double>(ncclFloat64, 3);
  expect_sums<std::int8_t>(ncclInt8, 3);
  expect_sums<std::uint8_t>(ncclUint8, 3);
  expect_sums<std::int32_t>(ncclInt32, 3);
  expect_sums<std::uint32_t>(ncclUint32, 3);
  expect_sums<std::int64_t>(ncclInt64, 3);
  expect_sums<std::uint64_t>(ncclUint64, 3);
}

// What virtual ranks compute is what real ranks compute.
TEST_P(Collectives, BitsEqualThoseOfVirtualRanks) {
  constexpr std::size_t kCount = 10'007;
  for (const int world : {2, 3, 4, 5}) {
    std::vector<float> all;
    for (int rank = 0; rank < world; ++rank) {
      const auto part = inputs_of<float>(rank, kCount);
      all.insert(all.end(), part.begin(), part.end());
    }
    const Buffer<float> buffers(all), sums(kCount);
    const Stream stream;
    sum_ranks(stream.get(), is_ring() ? SumOrder::ring : SumOrder::rank, world, kCount,
              buffers.cspan(), sums.span());
    stream.synchronize();
    const std::vector<float> expected = sums.download();
    run_ranks(world, [&](Rank& self) {
      Buffer<float> values(inputs_of<float>(self.rank, kCount));
      EXPECT_NCCL(ncclSuccess, ncclAllReduce(values.span().data, values.span().data, kCount,
                                             ncclFloat32, ncclSum, self.comm, self.stream.get()));
      self.stream.synchronize();
      EXPECT_TRUE(same_bits(values.download(), expected)) << world << " ranks";
    });
  }
}

TEST_P(Collectives, AverageDividesTheSum) {
  run_ranks(3, [](Rank& self) {
    Values<float> values(9'001);
    for (const std::size_t count : {5ul, 9'001ul}) {
      values.set(inputs_of<float>(self.rank, count));
      EXPECT_NCCL(ncclSuccess, ncclAllReduce(values.data(), values.data(), count, ncclFloat32,
                                             ncclAvg, self.comm, self.stream.get()));
      self.stream.synchronize();
      std::vector<float> expected = expected_sum<float>(is_ring(), 3, count);
      for (float& sum : expected) sum /= 3;
      EXPECT_TRUE(same_bits(values.get(count), expected));
    }
  });
}

// A slice of a buffer, as a bucket is: neighbours keep their bytes.
TEST_P(Collectives, SlicesOfAnyAlignment) {
  run_ranks(2, [](Rank& self) {
    constexpr std::size_t kCount = 5'003, kOffset = 7;
    const std::vector<float> before(kCount + 2 * kOffset, 1.f);
    Buffer<float> values(before);
    float* slice = values.span().data + kOffset;
    EXPECT_NCCL(ncclSuccess, ncclAllReduce(slice, slice, kCount, ncclFloat32, ncclSum, self.comm,
                                           self.stream.get()));
    self.stream.synchronize();
    std::vector<float> expected = before;
    for (std::size_t i = 0; i < kCount; ++i) expected[kOffset + i] = 2;
    EXPECT_TRUE(same_bits(values.download(), expected));
  });
}

TEST_P(Collectives, BroadcastFromEachRoot) {
  run_ranks(4, [](Rank& self) {
    Values<float> in(70'001), out(70'001);
    for (int root = 0; root < self.world; ++root) {
      for (const std::size_t count : {0ul, 1ul, 1'021ul, 70'001ul}) {
        in.set(inputs_of<float>(self.rank, count));
        const void* from = self.rank == root ? in.data() : nullptr;
        EXPECT_NCCL(ncclSuccess, ncclBroadcast(from, out.data(), count, ncclFloat32, root,
                                               self.comm, self.stream.get()));
        EXPECT_NCCL(ncclSuccess, ncclBroadcast(in.data(), in.data(), count, ncclFloat32, root,
                                               self.comm, self.stream.get()));
        self.stream.synchronize();
        EXPECT_TRUE(same_bits(out.get(count), inputs_of<float>(root, count))) << root;
        EXPECT_TRUE(same_bits(in.get(count), inputs_of<float>(root, count))) << root;
      }
    }
  });
}

// Small and large messages in turn, all queued at once, on two streams.
TEST_P(Collectives, ManyCallsKeepTheirOrder) {
  run_ranks(3, [](Rank& self) {
    constexpr std::size_t kLarge = 6'000;
    Buffer<std::int32_t> values(std::vector<std::int32_t>(kLarge, 1));
    const Stream other;
    for (int i = 0; i < 18; ++i) {
      const std::size_t count = i % 3 == 0 ? kLarge : 10;
      const Stream& stream = i % 4 == 0 ? other : self.stream;
      EXPECT_NCCL(ncclSuccess, ncclAllReduce(values.span().data, values.span().data, count,
                                             ncclInt32, ncclSum, self.comm, stream.get()));
    }
    other.synchronize();
    self.stream.synchronize();
    const std::vector<std::int32_t> result = values.download();
    EXPECT_EQ(result[9], 387'420'489);   // 3^18
    EXPECT_EQ(result[kLarge - 1], 729);  // 3^6
  });
}

TEST_P(Collectives, ACapturedStepCanBeReplayed) {
  run_ranks(2, [](Rank& self) {
    Buffer<float> values(std::vector<float>(5'000, 1.f));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(self.stream.get(), cudaStreamCaptureModeThreadLocal));
    EXPECT_NCCL(ncclSuccess, ncclAllReduce(values.span().data, values.span().data, values.size(),
                                           ncclFloat32, ncclSum, self.comm, self.stream.get()));
    CUDA_CHECK(cudaStreamEndCapture(self.stream.get(), &graph));
    CUDA_CHECK(cudaGraphInstantiate(&exec, graph));
    for (int i = 0; i < 3; ++i) CUDA_CHECK(cudaGraphLaunch(exec, self.stream.get()));
    self.stream.synchronize();
    EXPECT_EQ(values.download()[4'999], 8.f);
    CUDA_CHECK(cudaGraphExecDestroy(exec));
    CUDA_CHECK(cudaGraphDestroy(graph));
  });
}

TEST_P(Collectives, TheTransportIsTheOneThatWasAskedFor) {
  run_ranks(2, [](Rank& self) {
    EXPECT_STREQ(cpu::nccl::transport_name(self.comm), GetParam());
    int count = 0, rank = -1, device = -1;
    EXPECT_NCCL(ncclSuccess, ncclCommCount(self.comm, &count));
    EXPECT_NCCL(ncclSuccess, ncclCommUserRank(self.comm, &rank));
    EXPECT_NCCL(ncclSuccess, ncclCommCuDevice(self.comm, &device));
    EXPECT_EQ(count, 2);
    EXPECT_EQ(rank, self.rank);
    EXPECT_EQ(device, self.rank);
  });
}

INSTANTIATE_TEST_SUITE_P(Nccl, Collectives, testing::Values("shared memory", "tcp"),
                         transport_test_name);

}  // namespace
}  // namespace annulus::test
