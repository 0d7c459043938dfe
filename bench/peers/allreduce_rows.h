// The measurement that the peers' all-reduce programs share: rows of calls, the slowest rank's
// time, the median over rows, and the check of the result. Included by mpi_allreduce.cpp and
// gloo_allreduce.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <vector>

namespace rows {

constexpr double kRowSeconds = 0.02, kAllSeconds = 0.3;  // as engine/allreduce_bench.cpp has them
constexpr int kMostCalls = 400, kFewestRows = 9, kWarmupCalls = 5;

struct Contender {
  std::function<void()> meet;             // returns when all ranks have come
  std::function<void()> all_reduce;       // one call, out of place
  std::function<double(double)> slowest;  // the maximum over ranks, on all of them
};

inline double time_row(const Contender& contender, int calls) {
  contender.meet();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) contender.all_reduce();
  const std::chrono::duration<double> mine = std::chrono::steady_clock::now() - start;
  return contender.slowest(mine.count());
}

// Seconds of one call. Every rank decides alike, since all know the slowest rank's time.
inline double median_call(const Contender& contender) {
  const double warm = time_row(contender, kWarmupCalls) / kWarmupCalls;
  const int calls = static_cast<int>(std::clamp(kRowSeconds / warm, 1.0, double{kMostCalls}));
  std::vector<double> samples;
  for (double total = 0; total < kAllSeconds && samples.size() < 1000;) {
    samples.push_back(time_row(contender, calls) / calls);
    total += samples.back() * calls;
    if (static_cast<int>(samples.size()) >= kFewestRows && total > kAllSeconds / 3) break;
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
  return samples[samples.size() / 2];
}

// Rank r gives (i + r) mod 7.
struct Buffers {
  Buffers(std::size_t bytes, int rank) : input(bytes / sizeof(float)), output(input.size()) {
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = value(rank, i);
  }
  static float value(int rank, std::size_t i) {
    return static_cast<float>((i + static_cast<std::size_t>(rank)) % 7);
  }
  std::size_t count_wrong(int ranks) const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      float sum = 0;
      for (int rank = 0; rank < ranks; ++rank) sum += value(rank, i);
      wrong += output[i] != sum ? 1 : 0;
    }
    return wrong;
  }

  std::vector<float> input, output;
};

inline void print(std::size_t bytes, double seconds, std::size_t wrong) {
  std::printf("%zu %.3f %zu\n", bytes, 1e6 * seconds, wrong);
  std::fflush(stdout);
}

}  // namespace rows
