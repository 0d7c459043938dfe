// The best of some rounds counts: nothing but disturbance makes a round slower.
#include "bench/device_peaks.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/check.h"
#include "kernels/cuda.h"
#include "kernels/gemm.h"

namespace annulus::bench {
namespace {

// Seconds of `work` on the stream, by its own clock.
double best_seconds(const Stream& stream, const std::function<void()>& work) {
  constexpr int kRounds = 10;
  const Event start(true), end(true);
  double best = 1e9;
  work();
  for (int round = 0; round < kRounds; ++round) {
    start.record(stream);
    work();
    end.record(stream);
    end.synchronize();
    best = std::min(best, end.milliseconds_since(start) * 1e-3);
  }
  return best;
}

double copy_rate(const Stream& stream, std::size_t bytes) {
  const Buffer<std::byte> from(bytes), to(bytes);
  const double seconds = best_seconds(stream, [&] {
    CUDA_CHECK(cudaMemcpyAsync(to.span().data, from.span().data, bytes, cudaMemcpyDeviceToDevice,
                               stream.get()));
  });
  return 2. * static_cast<double>(bytes) / seconds;
}

double product_rate(const Stream& stream, int size) {
  const CublasHandle cublas;
  const std::size_t count = static_cast<std::size_t>(size) * size;
  const std::vector<float> values(count, 0.5f);
  const Buffer<float> a(values), b(values), c(count);
  const double seconds = best_seconds(stream, [&] {
    gemm(cublas, stream.get(), Transpose::no, Transpose::no, size, size, size, a.cspan(), b.cspan(),
         0, c.span());
  });
  return 2. * static_cast<double>(count) * size / seconds;
}

}  // namespace

DevicePeaks measure_device_peaks() {
  const Stream stream;
  return {.gflops = product_rate(stream, 2048) * 1e-9,
          .gbytes = copy_rate(stream, std::size_t{512} << 20) * 1e-9};
}

}  // namespace annulus::bench
