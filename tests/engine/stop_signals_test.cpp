// A stop signal in the middle of a GEMM changes no memory: its handler's stack is its own. With the
// thread's stack instead, oneDNN 2.6 crashes here within milliseconds.
#include "engine/stop_signals.h"

#include <gtest/gtest.h>
#include <oneapi/dnnl/dnnl.h>
#include <sys/time.h>

#include <csignal>
#include <vector>

#include "kernels/cpu/single_threaded.h"

namespace annulus {
namespace {

int handled = 0;

TEST(StopSignals, AHandlersFrameLiesOnAStackOfItsOwn) {
  install_stop_signals();
  struct sigaction stop {};
  sigaction(SIGTERM, nullptr, &stop);
  EXPECT_TRUE(stop.sa_flags & SA_ONSTACK);
  const cpu::SingleThreaded single_threaded;  // of so many alarms other threads would get some

  // As the stop signals are handled, so is an alarm, every 0.1 ms.
  struct sigaction alarm = stop, before{};
  alarm.sa_handler = [](int) { ++handled; };
  sigaction(SIGALRM, &alarm, &before);
  const itimerval often{{0, 100}, {0, 100}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  constexpr int kM = 256, kN = 32, kK = 3072;
  const std::vector<float> a(kM * kK, 1.f), b(kK * kN, 2.f);
  for (int i = 0; i < 200; ++i) {
    std::vector<float> c(kM * kN, 0.f);
    dnnl_sgemm(i % 2 ? 'N' : 'T', 'N', kM, kN, kK, 1.f, a.data(), i % 2 ? kK : kM, b.data(), kN,
               0.f, c.data(), kN);
    ASSERT_EQ(c, std::vector<float>(kM * kN, 2.f * kK)) << i;
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_GT(handled, 0);
}

}  // namespace
}  // namespace annulus
