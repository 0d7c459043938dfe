// Memory of NCCL's own and memory that a communicator was told of: it works as any other, and each
// misuse has a name.
#include "tests/comm/cpu/ranks.h"

namespace annulus::test {
namespace {

constexpr std::size_t kFloats = 1024;

class Memory : public NcclTest {};

float* allocate() {
  void* data = nullptr;
  EXPECT_NCCL(ncclSuccess, ncclMemAlloc(&data, kFloats * sizeof(float)));
  return static_cast<float*>(data);
}

void* enter(ncclComm_t comm, float* data) {
  void* handle = nullptr;
  EXPECT_NCCL(ncclSuccess, ncclCommRegister(comm, data, kFloats * sizeof(float), &handle));
  EXPECT_NE(handle, nullptr);
  return handle;
}

TEST_F(Memory, RegisteredMemoryIsReduced) {
  run_ranks(2, [](Rank& self) {
    float* const data = allocate();
    const std::vector<float> ones(kFloats, 1.f);
    CUDA_CHECK(cudaMemcpy(data, ones.data(), kFloats * sizeof(float), cudaMemcpyHostToDevice));
    void* const handle = enter(self.comm, data);
    EXPECT_NCCL(ncclSuccess, ncclAllReduce(data, data, kFloats, ncclFloat32, ncclSum, self.comm,
                                           self.stream.get()));
    self.stream.synchronize();
    EXPECT_EQ(data[kFloats - 1], 2.f);
    EXPECT_NCCL(ncclSuccess, ncclCommDeregister(self.comm, handle));
    EXPECT_NCCL(ncclSuccess, ncclMemFree(data));
  });
}

TEST_F(Memory, FreedWhileRegisteredIsReportedAndNotFreed) {
  run_ranks(1, [](Rank& self) {
    float* const data = allocate();
    void* const handle = enter(self.comm, data);
    EXPECT_EQ(ncclMemFree(data), ncclInvalidUsage);
    expect_reports(1, "registered memory", {"ncclMemFree(", "still has it registered", "rank 0"});
    EXPECT_NCCL(ncclSuccess, ncclCommDeregister(self.comm, handle));
    EXPECT_NCCL(ncclSuccess, ncclMemFree(data));
  });
}

TEST_F(Memory, FreedByCudaWhileRegisteredIsReportedWhenItIsDeregistered) {
  run_ranks(1, [](Rank& self) {
    void* handle = nullptr;
    {
      const Buffer<float> buffer(kFloats);
      handle = enter(self.comm, buffer.span().data);
    }
    EXPECT_EQ(ncclCommDeregister(self.comm, handle), ncclInvalidUsage);
    expect_reports(1, "registered memory", {"4096 bytes", "freed while they were registered"});
  });
}

TEST_F(Memory, DeregisteredOrFreedTwiceIsReported) {
  run_ranks(1, [](Rank& self) {
    float* const data = allocate();
    void* const handle = enter(self.comm, data);
    EXPECT_NCCL(ncclSuccess, ncclCommDeregister(self.comm, handle));
    EXPECT_EQ(ncclCommDeregister(self.comm, handle), ncclInvalidUsage);
    expect_reports(1, "registered memory", {"ncclCommDeregister(", "deregistered before"});
    EXPECT_NCCL(ncclSuccess, ncclMemFree(data));
    EXPECT_EQ(ncclMemFree(data), ncclInvalidUsage);
    expect_reports(1, "registered memory", {"ncclMemFree(", "freed before"});
  });
}

TEST_F(Memory, ACommunicatorTakesItsRegistrationsWithIt) {
  float* data = nullptr;
  run_ranks(1, [&](Rank& self) {
    data = allocate();
    enter(self.comm, data);
  });
  EXPECT_NCCL(ncclSuccess, ncclMemFree(data));
}

TEST_F(Memory, ArgumentsAreChecked) {
  run_ranks(1, [](Rank& self) {
    float host[4] = {};
    void* handle = nullptr;
    const Buffer<float> buffer(4);
    float* const data = buffer.span().data;
    EXPECT_EQ(ncclCommRegister(self.comm, host, sizeof host, &handle), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRegister(self.comm, data, 17, &handle), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRegister(self.comm, data, 16, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommRegister(nullptr, data, 16, &handle), ncclInvalidArgument);
    EXPECT_EQ(ncclMemAlloc(nullptr, 16), ncclInvalidArgument);
    EXPECT_NCCL(ncclSuccess, ncclMemFree(nullptr));
  });
}

}  // namespace
}  // namespace annulus::test
