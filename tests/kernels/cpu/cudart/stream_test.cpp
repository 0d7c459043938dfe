// Streams, events and host functions: order, queries, the legacy default stream, lifetimes, and
// what a failed kernel leaves behind. The same in every mode.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "kernels/cpu/cudart/device.h"
#include "tests/kernels/cpu/cudart/device_test.h"
#include "tests/kernels/cpu/cudart/test_kernels.h"

namespace annulus::test {
namespace {

class StreamTest : public DeviceTest {};

// Queues work that appends `word` to `log`; the log is touched by one operation at a time.
void append(cudaStream_t stream, std::string& log, const char* word) {
  ASSERT_EQ(cpu::enqueue(stream, "append", {}, [&log, word] { log += word; }), cudaSuccess);
}

TEST_F(StreamTest, AStreamRunsInOrder) {
  Stream stream;
  std::string log;
  for (const char* word : {"a", "b", "c", "d"}) append(stream.get(), log, word);
  stream.synchronize();
  EXPECT_EQ(log, "abcd");
}

TEST_F(StreamTest, EventsOrderStreams) {
  Stream first, second;
  Event ping, pong;
  std::string log;
  for (int round = 0; round < 20; ++round) {
    append(first.get(), log, "a");
    ping.record(first);
    second.wait(ping);
    append(second.get(), log, "b");
    pong.record(second);
    first.wait(pong);
  }
  first.synchronize();
  std::string wanted;
  for (int round = 0; round < 20; ++round) wanted += "ab";
  EXPECT_EQ(log, wanted);
}

TEST_F(StreamTest, AHostThatRunsFarAheadIsHeldNotRefused) {
  Stream stream;
  int count = 0;
  for (int i = 0; i < 5000; ++i)
    ASSERT_EQ(cpu::enqueue(stream.get(), "count", {}, [&count] { ++count; }), cudaSuccess);
  stream.synchronize();
  EXPECT_EQ(count, 5000);
}

TEST_F(StreamTest, QueriesComeTrueWithoutAWait) {
  Stream stream;
  Event event;
  bool ran = false;
  cpu::enqueue(stream.get(), "work", {}, [&ran] { ran = true; });
  event.record(stream);
  cudaError_t status;
  while ((status = cudaEventQuery(event.get())) == cudaErrorNotReady) std::this_thread::yield();
  EXPECT_EQ(status, cudaSuccess);
  EXPECT_TRUE(ran);
  while ((status = cudaStreamQuery(stream.get())) == cudaErrorNotReady) std::this_thread::yield();
  EXPECT_EQ(status, cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // not ready is not an error
}

TEST_F(StreamTest, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  cudaStream_t blocking;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  std::string log;
  append(blocking, log, "a");
  append(nullptr, log, "b");
  append(blocking, log, "c");
  append(cudaStreamLegacy, log, "d");
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(log, "abcd");
  EXPECT_EQ(cudaStreamDestroy(blocking), cudaSuccess);
}

TEST_F(StreamTest, AnEventMayBeDestroyedAndRecordedAgainWhileItIsQueued) {
  Stream first, second;
  std::string log;
  {
    Event event(true);
    append(first.get(), log, "a");
    event.record(first);
    second.wait(event);
    append(second.get(), log, "b");
    event.record(second);  // a later record does not move the wait above
  }
  second.synchronize();
  EXPECT_EQ(log, "ab");
}

TEST_F(StreamTest, DestroyingAStreamWaitsForItsWork) {
  bool ran = false;
  {
    Stream stream;
    cpu::enqueue(stream.get(), "work", {}, [&ran] { ran = true; });
  }
  EXPECT_TRUE(ran);
}

TEST_F(StreamTest, ADestroyedStreamIsRefused) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(StreamTest, TimingEventsMeasureAndTheOthersRefuse) {
  Stream stream;
  Event start(true), end(true), untimed;
  start.record(stream);
  cpu::enqueue(stream.get(), "sleep", {},
               [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  end.record(stream);
  untimed.record(stream);
  end.synchronize();
  EXPECT_GE(end.milliseconds_since(start), 5.f);
  float milliseconds;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start.get(), untimed.get()),
            cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST_F(StreamTest, HostFunctionsRunInOrderAndMayNotCallCuda) {
  Stream stream;
  Buffer<float> x(10);
  static std::atomic<cudaError_t> from_inside;
  from_inside = cudaSuccess;
  fill(stream.get(), 7, x.span());
  cudaLaunchHostFunc(
      stream.get(), [](void*) { from_inside = cudaDeviceSynchronize(); }, nullptr);
  stream.synchronize();
  EXPECT_EQ(from_inside, cudaErrorNotPermitted);
}

TEST_F(StreamTest, AnExceptionInAKernelIsAStickyErrorOfTheDevice) {
  Stream stream;
  Buffer<float> y(4);
  fail(stream.get(), 2, y.span());
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaErrorLaunchFailure);
  EXPECT_THROW(fill(stream.get(), 1, y.span()), DeviceError);  // sticky: nothing runs any more
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorLaunchFailure);
  expect_report("kernel failure", {"fail_kernel", "planted"});
  EXPECT_EQ(y.download()[0], 1);  // the blocks before the failure
}

TEST_F(StreamTest, TwoHostThreadsMayUseTheirOwnStreams) {
  const auto work = [](float value) {
    Stream stream;
    Buffer<float> x(20000), y(20000);
    for (int i = 0; i < 50; ++i) {
      fill(stream.get(), value, x.span());
      scale(stream.get(), 2, x.cspan(), y.span());
    }
    stream.synchronize();
    const auto host = y.download();
    EXPECT_EQ(std::count(host.begin(), host.end(), 2 * value), 20000);
  };
  std::thread other(work, 3.f);
  work(5.f);
  other.join();
}

TEST_F(StreamTest, PrioritiesAndFlags) {
  int least, greatest, priority;
  unsigned int flags;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LT(greatest, least);
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 10),
            cudaSuccess);
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  cudaStreamDestroy(stream);
}

TEST_F(StreamTest, DevicesAreApart) {
  int count;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  ASSERT_EQ(count, 2);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  Buffer<float> x(8);
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, x.span().data), cudaSuccess);
  EXPECT_EQ(attributes.device, 1);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  cudaGetLastError();
}

TEST_F(StreamTest, PropertiesNameTheDevice) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_STREQ(properties.name, "Annulus CPU device");
  EXPECT_EQ(properties.totalGlobalMem, kDeviceMemory);
  int warp;
  EXPECT_EQ(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0), cudaSuccess);
  EXPECT_EQ(warp, 32);
}

}  // namespace
}  // namespace annulus::test
