// The thread pool: every piece once, exceptions, nesting, several callers.
#include "kernels/cpu/cudart/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/simt_host.h"

namespace annulus::test {
namespace {

TEST(PoolTest, EveryPieceRunsOnce) {
  for (const std::size_t pieces : {0u, 1u, 2u, 3u, 17u, 1000u}) {
    std::vector<std::atomic<int>> runs(pieces);
    simt::parallel(pieces, [&](std::size_t i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(PoolTest, ThePiecesOfACallAreDoneWhenItReturns) {
  std::size_t wrong = 0;
  for (int round = 0; round < 3000; ++round) {
    std::array<int, 8> results{};
    simt::parallel(results.size(), [&](std::size_t i) { results[i] = round; });
    for (const int result : results) wrong += result != round;
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(PoolTest, ACallWaitsForItsSlowestHelper) {
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    std::array<int, 8> results{};
    simt::parallel(results.size(), [&](std::size_t i) {
      const bool helps = std::this_thread::get_id() != caller;
      std::this_thread::sleep_for(std::chrono::microseconds(helps ? 2000 : 100));
      results[i] = 1;
    });
    EXPECT_EQ(std::count(results.begin(), results.end(), 1), 8);
  }
}

TEST(PoolTest, TheFirstExceptionReachesTheCallerAndThePoolGoesOn) {
  EXPECT_THROW(simt::parallel(100,
                              [](std::size_t i) {
                                if (i == 37) throw std::runtime_error("planted");
                              }),
               std::runtime_error);
  std::atomic<int> runs = 0;
  simt::parallel(100, [&](std::size_t) { ++runs; });
  EXPECT_EQ(runs, 100);
}

TEST(PoolTest, CallsMayNest) {
  std::atomic<int> runs = 0;
  simt::parallel(8, [&](std::size_t) { simt::parallel(8, [&](std::size_t) { ++runs; }); });
  EXPECT_EQ(runs, 64);
}

TEST(PoolTest, SeveralCallersShareIt) {
  std::atomic<int> runs = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) simt::parallel(5, [&](std::size_t) { ++runs; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(runs, 4 * 200 * 5);
}

}  // namespace
}  // namespace annulus::test
