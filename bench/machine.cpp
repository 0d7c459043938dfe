// Measures peaks with plain threads. The best of many short rounds counts: nothing but disturbance
// makes a round slower, and a short one has a chance to pass undisturbed on a busy machine.
#include "bench/machine.h"

#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace annulus::bench {
namespace {

constexpr int kRounds = 64;

using Clock = std::chrono::steady_clock;

// Seconds from the first thread's start to the last one's end; all start together.
double seconds_of(unsigned int threads, const std::function<void(unsigned int)>& work) {
  std::barrier ready(threads);
  std::vector<Clock::time_point> starts(threads), ends(threads);
  const auto run = [&](unsigned int t) {
    ready.arrive_and_wait();
    starts[t] = Clock::now();
    work(t);
    ends[t] = Clock::now();
  };
  {
    std::vector<std::jthread> others;
    for (unsigned int t = 1; t < threads; ++t) others.emplace_back(run, t);
    run(0);
  }
  const auto first = *std::min_element(starts.begin(), starts.end());
  const auto last = *std::max_element(ends.begin(), ends.end());
  return std::chrono::duration<double>(last - first).count();
}

// Enough independent sums to cover the latency of two units; returns operations done.
constexpr long kIterations = 500'000;
volatile float sink;

double multiply_add_256() {
  constexpr int kSums = 12;
  __m256 sums[kSums], factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.001f);
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  for (long i = 0; i < kIterations; ++i) {
#pragma GCC unroll 12
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  }
  for (const __m256& sum : sums) sink = _mm256_cvtss_f32(sum);
  return 2. * 8 * kSums * kIterations;
}

__attribute__((target("avx512f"))) double multiply_add_512() {
  constexpr int kSums = 24;
  __m512 sums[kSums], factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(0.001f);
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (long i = 0; i < kIterations; ++i) {
#pragma GCC unroll 24
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  }
  for (const __m512& sum : sums) sink = _mm512_cvtss_f32(sum);
  return 2. * 16 * kSums * kIterations;
}

double measure_gflops(unsigned int threads) {
  const auto multiply_add = __builtin_cpu_supports("avx512f") ? multiply_add_512 : multiply_add_256;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> operations(threads);
    const double seconds =
        seconds_of(threads, [&](unsigned int t) { operations[t] = multiply_add(); });
    best = std::max(best, operations[0] * threads / seconds);
  }
  return best * 1e-9;
}

// Four times the last cache in all, within reason.
std::size_t triad_elements() {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const std::size_t bytes = 4 * static_cast<std::size_t>(std::max(cache, 0L));
  return std::clamp<std::size_t>(bytes, 192u << 20, 1u << 30) / (3 * sizeof(float));
}

// The rounds walk the arrays part by part, so that a part has left the caches when its turn comes
// again.
double measure_gbytes(unsigned int threads) {
  constexpr std::size_t kParts = 16;
  const std::size_t size = triad_elements() / kParts;
  const auto a = std::make_unique_for_overwrite<float[]>(size * kParts);
  const auto b = std::make_unique_for_overwrite<float[]>(size * kParts);
  const auto c = std::make_unique_for_overwrite<float[]>(size * kParts);
  std::fill_n(a.get(), size * kParts, 0.f);
  std::fill_n(b.get(), size * kParts, 1.f);
  std::fill_n(c.get(), size * kParts, 2.f);
  double best = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::size_t part = round % kParts * size;
    const double seconds = seconds_of(threads, [&](unsigned int t) {
      float* __restrict__ out = a.get() + part;
      const float *left = b.get() + part, *right = c.get() + part;
      for (std::size_t i = size * t / threads; i < size * (t + 1) / threads; ++i)
        out[i] = left[i] + 3.f * right[i];
    });
    best = std::max(best, 3. * sizeof(float) * static_cast<double>(size) / seconds);
  }
  return best * 1e-9;
}

}  // namespace

unsigned int usable_cores() { return std::max(1u, std::thread::hardware_concurrency()); }

Machine measure_machine(unsigned int threads) {
  return {threads, measure_gflops(threads), measure_gbytes(threads)};
}

}  // namespace annulus::bench
