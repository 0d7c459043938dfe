// Measures peaks with plain threads: the best of several rounds, since nothing but disturbance can
// make a round slower.
#include "bench/machine.h"

#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace annulus::bench {
namespace {

constexpr int kRounds = 7;

// Seconds until work(t) has run on all threads t.
double seconds_of(unsigned int threads, const std::function<void(unsigned int)>& work) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::jthread> running;
  for (unsigned int t = 1; t < threads; ++t) running.emplace_back(work, t);
  work(0);
  running.clear();  // joins
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double best_seconds(unsigned int threads, const std::function<void(unsigned int)>& work) {
  double best = seconds_of(threads, work);
  for (int round = 1; round < kRounds; ++round) best = std::min(best, seconds_of(threads, work));
  return best;
}

// Enough independent sums to cover the latency of two units; returns operations done.
constexpr long kIterations = 2'000'000;
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
  std::vector<double> operations(threads);
  const double seconds =
      best_seconds(threads, [&](unsigned int t) { operations[t] = multiply_add(); });
  return operations[0] * threads / seconds * 1e-9;
}

// Four times the last cache in all, within reason.
std::size_t triad_elements() {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const std::size_t bytes = 4 * static_cast<std::size_t>(std::max(cache, 0L));
  return std::clamp<std::size_t>(bytes, 192u << 20, 1u << 30) / (3 * sizeof(float));
}

double measure_gbytes(unsigned int threads) {
  const std::size_t size = triad_elements();
  const auto a = std::make_unique_for_overwrite<float[]>(size);
  const auto b = std::make_unique_for_overwrite<float[]>(size);
  const auto c = std::make_unique_for_overwrite<float[]>(size);
  const auto on_slice = [&](unsigned int t, const auto& body) {
    for (std::size_t i = size * t / threads; i < size * (t + 1) / threads; ++i) body(i);
  };
  seconds_of(threads, [&](unsigned int t) {  // the thread that uses a page touches it first
    on_slice(t, [&](std::size_t i) { a[i] = 0, b[i] = 1, c[i] = 2; });
  });
  const double seconds = best_seconds(threads, [&](unsigned int t) {
    float* __restrict__ out = a.get();
    const float *left = b.get(), *right = c.get();
    on_slice(t, [&](std::size_t i) { out[i] = left[i] + 3.f * right[i]; });
  });
  return 3. * sizeof(float) * static_cast<double>(size) / seconds * 1e-9;
}

}  // namespace

unsigned int usable_cores() { return std::max(1u, std::thread::hardware_concurrency()); }

Machine measure_machine(unsigned int threads) {
  return {threads, measure_gflops(threads), measure_gbytes(threads)};
}

}  // namespace annulus::bench
