// A program for environment_test: does a fixed piece of work on the device and prints what came
// out, so that runs under different environments can be compared.
//   probe digest    a hash of the results of many kernels over two streams and a graph
//   probe barrier   the sum by a kernel with a missing barrier, then by the right one
//   probe race      a race, then the status of the next call
//   probe status    the name of the first call's status
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cuda.h"
#include "tests/kernels/cpu/cudart/test_kernels.h"

namespace annulus::test {
namespace {

std::uint64_t hash(std::uint64_t seed, const std::vector<float>& values) {
  for (const float value : values) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    seed = (seed ^ bits) * 0x100000001B3ull;
  }
  return seed;
}

std::vector<float> inputs(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i * 2654435761u % 100003) / 50000.f - 1;
  return values;
}

void print_digest() {
  Stream first, second;
  Event half_way, done;
  Buffer<float> x(inputs(60001)), y(x.size()), z(x.size()), sums(3);
  const auto step = [&] {
    polynomial(first.get(), x.cspan(), y.span());
    half_way.record(first);
    second.wait(half_way);
    scale(second.get(), 3, y.cspan(), z.span());
    warp_sums(first.get(), 64, y.cspan(), sums.span());
    done.record(second);
    first.wait(done);
    polynomial(first.get(), z.cspan(), x.span());
  };
  step();
  CUDA_CHECK(cudaStreamBeginCapture(first.get(), cudaStreamCaptureModeThreadLocal));
  step();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA_CHECK(cudaStreamEndCapture(first.get(), &graph));
  CUDA_CHECK(cudaGraphInstantiate(&exec, graph));
  for (int i = 0; i < 3; ++i) CUDA_CHECK(cudaGraphLaunch(exec, first.get()));
  first.synchronize();
  std::printf("%016llx\n", static_cast<unsigned long long>(
                               hash(hash(14695981039346656037ull, x.download()), sums.download())));
  CUDA_CHECK(cudaGraphExecDestroy(exec));
  CUDA_CHECK(cudaGraphDestroy(graph));
}

void print_barrier() {
  Stream stream;
  Buffer<float> x(std::vector<float>(1024, 1.f)), wrong(1), right(1);
  block_sums_without_barrier(stream.get(), 128, x.cspan(), wrong.span());
  block_sums(stream.get(), 128, x.cspan(), right.span());
  stream.synchronize();
  std::printf("%g %g\n", double{wrong.download()[0]}, double{right.download()[0]});
}

void print_race() {
  Stream first, second;
  Buffer<float> x(1000);
  fill(first.get(), 1, x.span());
  fill(second.get(), 2, x.span());
  cudaStreamSynchronize(second.get());
  std::printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(first.get())));
}

void print_status() {
  int count;
  std::printf("%s\n", cudaGetErrorName(cudaGetDeviceCount(&count)));
}

}  // namespace
}  // namespace annulus::test

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "digest") annulus::test::print_digest();
  if (what == "barrier") annulus::test::print_barrier();
  if (what == "race") annulus::test::print_race();
  if (what == "status") annulus::test::print_status();
  return 0;
}
