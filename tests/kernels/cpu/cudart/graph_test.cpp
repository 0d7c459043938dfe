// Stream capture and graphs: replay, forks and joins, misuse, and order checks inside a graph.
#include <gtest/gtest.h>

#include "tests/kernels/cpu/cudart/device_test.h"
#include "tests/kernels/cpu/cudart/test_kernels.h"
#include "tests/pattern.h"

namespace annulus::test {
namespace {

class GraphTest : public DeviceTest {
 protected:
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
    ASSERT_EQ(cudaStreamBeginCapture(main.get(), mode), cudaSuccess);
  }
  cudaGraphExec_t end() {
    cudaGraph_t graph;
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(main.get(), &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return exec;
  }
  cudaError_t end_badly() {
    cudaGraph_t graph;
    const cudaError_t status = cudaStreamEndCapture(main.get(), &graph);
    EXPECT_EQ(graph, nullptr);
    cudaGetLastError();
    return status;
  }
  void fork() {
    forked.record(main);
    side.wait(forked);
  }
  void join() {
    joined.record(side);
    main.wait(joined);
  }

  Stream main, side;
  Event forked, joined;
  Buffer<float> x{1000}, y{1000}, z{1000};
};

TEST_F(GraphTest, CapturedWorkRunsAtEachLaunchAndNotBefore) {
  fill(main.get(), 1, x.span());
  begin();
  scale(main.get(), 2, x.cspan(), x.span());
  cudaStreamCaptureStatus status;
  EXPECT_EQ(cudaStreamIsCapturing(main.get(), &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  const cudaGraphExec_t exec = end();
  main.synchronize();
  EXPECT_EQ(x.download()[999], 1);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(cudaGraphLaunch(exec, main.get()), cudaSuccess);
  main.synchronize();
  EXPECT_EQ(x.download()[999], 32);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

TEST_F(GraphTest, AForkIsCapturedAndJoined) {
  begin();
  fill(main.get(), 3, x.span());
  fork();
  scale(side.get(), 2, x.cspan(), y.span());
  scale(main.get(), 5, x.cspan(), z.span());
  join();
  scale(main.get(), 10, y.cspan(), x.span());
  const cudaGraphExec_t exec = end();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(cudaGraphLaunch(exec, main.get()), cudaSuccess);
  main.synchronize();
  EXPECT_EQ(x.download()[0], 60);
  EXPECT_EQ(z.download()[0], 15);
  cudaGraphExecDestroy(exec);
}

TEST_F(GraphTest, ALaunchWaitsForTheWorkBeforeItAndForTheLaunchBeforeIt) {
  begin();
  fork();
  scale(side.get(), 2, x.cspan(), y.span());
  join();
  scale(main.get(), 2, y.cspan(), x.span());
  const cudaGraphExec_t exec = end();
  for (int round = 0; round < 10; ++round) {
    fill(main.get(), 1, x.span());
    cudaGraphLaunch(exec, main.get());
    cudaGraphLaunch(exec, main.get());
    main.synchronize();
    EXPECT_EQ(x.download()[999], 16);
  }
  cudaGraphExecDestroy(exec);
}

TEST_F(GraphTest, WorkBehindALaunchWaitsForTheWholeGraph) {
  begin();
  fork();
  fill(side.get(), 4, x.span());
  join();
  const cudaGraphExec_t exec = end();
  cudaGraphLaunch(exec, main.get());
  scale(main.get(), 2, x.cspan(), y.span());
  main.synchronize();
  EXPECT_EQ(y.download()[0], 8);
  cudaGraphExecDestroy(exec);
}

TEST_F(GraphTest, UnjoinedCapture) {
  begin();
  fill(main.get(), 3, x.span());
  fork();
  scale(side.get(), 2, x.cspan(), y.span());
  EXPECT_EQ(end_badly(), cudaErrorStreamCaptureUnjoined);
  expect_report("unjoined capture", {"scale_kernel", "is not joined to stream"});
  fill(side.get(), 1, y.span());  // the streams are usable again
  side.synchronize();
}

// A wait that is missing between two streams of the capture, as it would be in a step.
TEST_F(GraphTest, ARaceInsideAGraphIsReportedAtItsLaunchWithTheStreamsOfTheCapture) {
  begin();
  fork();
  declare_write(main.get(), x.span());
  declare_read(side.get(), x.cspan());
  join();
  const cudaGraphExec_t exec = end();
  EXPECT_EQ(cpu::report_count(), 0u);
  cudaGraphLaunch(exec, main.get());
  const auto reports = cpu::reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, "race");
  EXPECT_TRUE(test::contains(reports[0].message,
                             "reading_kernel on stream (\\d+) in a graph reads .* behind "
                             "writing_kernel on stream (?!\\1)\\d+ in a graph, which"))
      << reports[0].message;
  cpu::clear_reports();
  main.synchronize();
  cudaGraphExecDestroy(exec);
}

// The event is the host's: it can be waited for, queried and subtracted after each launch.
TEST_F(GraphTest, AnEventOfTheHostIsRecordedByEachLaunch) {
  const Event begin_time(true), end_time(true);
  begin();
  begin_time.stamp(main);
  fill(main.get(), 3, x.span());
  end_time.stamp(main);
  scale(main.get(), 2, x.cspan(), y.span());
  const cudaGraphExec_t exec = end();
  float before = 0;
  for (int launch = 0; launch < 3; ++launch) {
    ASSERT_EQ(cudaGraphLaunch(exec, main.get()), cudaSuccess);
    end_time.synchronize();
    EXPECT_EQ(cudaEventQuery(end_time.get()), cudaSuccess);
    const float time = end_time.milliseconds_since(begin_time);
    EXPECT_GT(time, 0);
    EXPECT_NE(time, before) << "not recorded again";
    before = time;
    EXPECT_EQ(x.download()[0], 3);  // the host has waited for the writer, not for the reader
  }
  main.synchronize();
  cudaGraphExecDestroy(exec);
}

// What stands behind the event in the graph is not what the host has waited for.
TEST_F(GraphTest, AnEventOfTheHostOrdersWhatIsBeforeItAlone) {
  const Event between;
  begin();
  declare_write(main.get(), x.span());
  between.stamp(main);
  declare_write(main.get(), y.span());
  const cudaGraphExec_t exec = end();
  cudaGraphLaunch(exec, main.get());
  between.synchronize();
  declare_read(side.get(), x.cspan());
  EXPECT_EQ(cpu::report_count(), 0u);
  declare_read(side.get(), y.cspan());
  expect_report("race", {"reading_kernel", "writing_kernel", "in a graph"});
  main.synchronize();
  side.synchronize();
  cudaGraphExecDestroy(exec);
}

TEST_F(GraphTest, AnEventOfTheHostOrdersNoStreamOfTheCapture) {
  const Event stamp;
  EXPECT_EQ(cudaEventRecordWithFlags(stamp.get(), main.get(), cudaEventRecordExternal),
            cudaErrorInvalidValue);  // there is no capture
  stamp.record(main);
  stamp.synchronize();
  begin();
  stamp.stamp(main);
  EXPECT_EQ(cudaEventQuery(stamp.get()), cudaSuccess);                   // as it was before
  EXPECT_EQ(cudaStreamWaitEvent(side.get(), stamp.get()), cudaSuccess);  // on what was before
  EXPECT_EQ(cudaStreamWaitEvent(main.get(), stamp.get()), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end_badly(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, AGraphMayBeDestroyedWhileItRuns) {
  begin();
  fork();
  scale(side.get(), 2, x.cspan(), y.span());
  fill(main.get(), 3, z.span());
  join();
  fill(main.get(), 1, x.span());
  const cudaGraphExec_t exec = end();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(cudaGraphLaunch(exec, main.get()), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  main.synchronize();
  EXPECT_EQ(y.download()[0], 2);
}

TEST_F(GraphTest, ARaceBetweenAGraphAndAnotherStream) {
  begin();
  declare_write(main.get(), x.span());
  const cudaGraphExec_t exec = end();
  cudaGraphLaunch(exec, main.get());
  declare_read(side.get(), x.cspan());
  expect_report("race", {"reading_kernel", "writing_kernel"});
  main.synchronize();
  side.synchronize();
  cudaGraphExecDestroy(exec);
}

TEST_F(GraphTest, AGraphWhoseMemoryIsGone) {
  Buffer<float> gone(1000);
  begin();
  fill(main.get(), 3, gone.span());
  const cudaGraphExec_t exec = end();
  gone = Buffer<float>();
  EXPECT_EQ(cudaGraphLaunch(exec, main.get()), cudaErrorIllegalAddress);
  expect_report("use after free", {"fill_kernel"});
  cudaGetLastError();
  cudaGraphExecDestroy(exec);
}

TEST_F(GraphTest, WaitingDuringACaptureEndsIt) {
  begin();
  EXPECT_EQ(cudaStreamSynchronize(main.get()), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end_badly(), cudaErrorStreamCaptureInvalidated);
  begin();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end_badly(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, AllocatingIsPermittedInRelaxedCapturesOnly) {
  begin(cudaStreamCaptureModeRelaxed);
  Buffer<float> fresh(10);
  fill(main.get(), 3, fresh.span());
  cudaGraphExecDestroy(end());
  begin(cudaStreamCaptureModeGlobal);
  void* data;
  EXPECT_EQ(cudaMalloc(&data, 100), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end_badly(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, ACapturedEventIsNoEventOfTheHost) {
  begin();
  fork();
  EXPECT_EQ(cudaEventQuery(forked.get()), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaEventSynchronize(forked.get()), cudaErrorCapturedEvent);
  join();
  cudaGraphExecDestroy(end());
  EXPECT_EQ(cudaStreamWaitEvent(side.get(), forked.get()), cudaErrorCapturedEvent);
  cudaGetLastError();
}

TEST_F(GraphTest, ACaptureMayNotWaitForWorkOutside) {
  forked.record(side);
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(main.get(), forked.get()), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end_badly(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, TheDefaultStreamMayNotWaitForABlockingCapture) {
  cudaStream_t blocking;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaMemset(x.span().data, 0, 4), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  cudaStreamDestroy(blocking);
  cudaGetLastError();
}

TEST_F(GraphTest, OnlyTheOriginEndsACapture) {
  begin();
  fork();
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(side.get(), &graph), cudaErrorStreamCaptureUnmatched);
  join();
  cudaGraphExecDestroy(end());
  EXPECT_EQ(cudaStreamEndCapture(main.get(), &graph), cudaErrorIllegalState);
  cudaGetLastError();
}

}  // namespace
}  // namespace annulus::test
