// The kernels of the CPU device's tests: small ones of each kind, and some with planted faults.
#include "tests/kernels/cpu/cudart/test_kernels.h"

#include <stdexcept>

#include "kernels/simt.h"

namespace annulus::test {
namespace {

__global__ void fill_kernel(float value, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = value;
}

__global__ void scale_kernel(float factor, Span<const float> x, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = factor * x[i];
}

__global__ void reading_kernel(Span<const float>) {}
__global__ void writing_kernel(Span<float>) {}

__global__ void polynomial_kernel(Span<const float> x, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) {
    const float v = x[i];
    y[i] = ((0.3f * v - 1.7f) * v + 0.11f) / (1.f + v * v);
  }
}

__global__ void count_visits_kernel(Span<std::uint32_t> counts) {
  for (std::size_t i : grid_stride(counts.size)) counts[i] += 1;
}

// The part of x that this block sums, added up per thread.
__device__ float thread_sum(Span<const float> x) {
  const std::size_t count = x.size / gridDim.x;
  float sum = 0;
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) sum += x[blockIdx.x * count + i];
  return sum;
}

__global__ void block_sums_kernel(Span<const float> x, Span<float> sums) {
  float* partial = dynamic_shared<float>();
  partial[threadIdx.x] = thread_sum(x);
  __syncthreads();
  for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

__global__ void block_sums_without_barrier_kernel(Span<const float> x, Span<float> sums) {
  float* partial = dynamic_shared<float>();
  partial[threadIdx.x] = thread_sum(x);
  __syncthreads();
  for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

__global__ void warp_sums_kernel(Span<const float> x, Span<float> sums) {
  __shared__ float of_warp[32];
  float sum = thread_sum(x);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0;
  for (unsigned int warp = 0; warp < blockDim.x / 32; ++warp) total += of_warp[warp];
  sums[blockIdx.x] = total;
}

__global__ void diverge_kernel(unsigned int waiting, Span<float> y) {
  if (threadIdx.x < waiting) __syncthreads();
  y[threadIdx.x] = 1;
}

__global__ void fail_kernel(unsigned int block, Span<float> y) {
  if (blockIdx.x == block && threadIdx.x == 3) throw std::runtime_error("planted");
  __syncthreads();
  y[blockIdx.x] = 1;
}

__global__ void thread_numbers_kernel(Span<std::uint32_t> y) {
  const std::size_t block =
      (std::size_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const std::size_t threads = std::size_t{blockDim.x} * blockDim.y * blockDim.z;
  const std::size_t thread =
      (std::size_t{threadIdx.z} * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  y[block * threads + thread] = static_cast<std::uint32_t>(block * threads + thread);
}

__global__ void shuffles_kernel(Span<std::uint32_t> y) {
  const std::uint32_t lane = threadIdx.x;
  y[lane] = __shfl_xor_sync(~0u, lane, 5);
  y[32 + lane] = __shfl_down_sync(~0u, lane, 3);
  y[64 + lane] = __shfl_up_sync(~0u, lane, 3);
  y[96 + lane] = __shfl_sync(~0u, lane, 17);
  y[128 + lane] = __ballot_sync(~0u, lane % 2);
}

__global__ void partial_warp_kernel(Span<std::uint32_t> y) {
  std::uint32_t value = threadIdx.x;
  if (threadIdx.x < 8) value = __shfl_xor_sync(0xFFu, value, 7);
  __syncthreads();
  y[threadIdx.x] = value;
}

__global__ void atomics_kernel(Span<std::uint32_t> counts, Span<float> total) {
  atomicAdd(&counts[0], 1u);
  atomicAdd(&total[0], 0.5f);
}

__global__ void two_loops_kernel(Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = 1;
  for (std::size_t i : grid_stride(y.size)) y[i] = 2;
}

__global__ void two_forms_kernel(Span<float> y) {
  if (threadIdx.x == 0) y[0] = 2;
}

void two_forms_cpu(Span<float> y) { y[0] = 1; }

__global__ void write_behind_kernel(std::size_t beyond, Span<float> y) {
  for (std::size_t i = 0; i < beyond; ++i) y.data[y.size + i] = 0;
}

__global__ void unregistered_kernel(Span<float> y) { y[0] = 1; }

__global__ void empty_kernel() {}

SIMT_ELEMENTWISE(fill_kernel)
SIMT_ELEMENTWISE(scale_kernel)
SIMT_KERNEL(reading_kernel)
SIMT_KERNEL(writing_kernel)
SIMT_ELEMENTWISE(polynomial_kernel)
SIMT_ELEMENTWISE(count_visits_kernel)
SIMT_KERNEL(block_sums_kernel)
SIMT_KERNEL(block_sums_without_barrier_kernel)
SIMT_KERNEL(warp_sums_kernel)
SIMT_KERNEL(diverge_kernel)
SIMT_KERNEL(fail_kernel)
SIMT_KERNEL(thread_numbers_kernel)
SIMT_KERNEL(shuffles_kernel)
SIMT_KERNEL(partial_warp_kernel)
SIMT_KERNEL(atomics_kernel)
SIMT_ELEMENTWISE(two_loops_kernel)
SIMT_KERNEL(two_forms_kernel)
SIMT_CPU_FORM(two_forms_kernel, two_forms_cpu)
SIMT_KERNEL(write_behind_kernel)
SIMT_KERNEL(empty_kernel)

unsigned int blocks(std::size_t n) { return static_cast<unsigned int>(n); }

}  // namespace

void fill(cudaStream_t stream, float value, Span<float> y) {
  launch(fill_kernel, grid_for(y.size), kBlock, 0, stream, value, y);
}

void scale(cudaStream_t stream, float factor, Span<const float> x, Span<float> y) {
  launch(scale_kernel, grid_for(y.size), kBlock, 0, stream, factor, x, y);
}

void declare_read(cudaStream_t stream, Span<const float> x) {
  launch(reading_kernel, 1, 1, 0, stream, x);
}

void declare_write(cudaStream_t stream, Span<float> y) {
  launch(writing_kernel, 1, 1, 0, stream, y);
}

void polynomial(cudaStream_t stream, Span<const float> x, Span<float> y) {
  launch(polynomial_kernel, grid_for(y.size), kBlock, 0, stream, x, y);
}

void count_visits(cudaStream_t stream, Span<std::uint32_t> counts) {
  launch(count_visits_kernel, grid_for(counts.size), kBlock, 0, stream, counts);
}

void block_sums(cudaStream_t stream, unsigned int threads, Span<const float> x, Span<float> sums) {
  launch(block_sums_kernel, blocks(sums.size), threads, threads * sizeof(float), stream, x, sums);
}

void block_sums_without_barrier(cudaStream_t stream, unsigned int threads, Span<const float> x,
                                Span<float> sums) {
  launch(block_sums_without_barrier_kernel, blocks(sums.size), threads, threads * sizeof(float),
         stream, x, sums);
}

void warp_sums(cudaStream_t stream, unsigned int threads, Span<const float> x, Span<float> sums) {
  launch(warp_sums_kernel, blocks(sums.size), threads, 0, stream, x, sums);
}

void diverge(cudaStream_t stream, unsigned int threads, unsigned int waiting, Span<float> y) {
  launch(diverge_kernel, 1, threads, 0, stream, waiting, y);
}

void fail(cudaStream_t stream, unsigned int block, Span<float> y) {
  launch(fail_kernel, blocks(y.size), 64, 0, stream, block, y);
}

void thread_numbers(cudaStream_t stream, dim3 grid, dim3 block, Span<std::uint32_t> y) {
  launch(thread_numbers_kernel, grid, block, 0, stream, y);
}

void shuffles(cudaStream_t stream, Span<std::uint32_t> y) {
  launch(shuffles_kernel, 1, 32, 0, stream, y);
}

void partial_warp(cudaStream_t stream, Span<std::uint32_t> y) {
  launch(partial_warp_kernel, 1, blocks(y.size), 0, stream, y);
}

void atomics(cudaStream_t stream, unsigned int block_count, Span<std::uint32_t> counts,
             Span<float> total) {
  launch(atomics_kernel, block_count, 64, 0, stream, counts, total);
}

void two_loops(cudaStream_t stream, Span<float> y) {
  launch(two_loops_kernel, grid_for(y.size), kBlock, 0, stream, y);
}

void two_forms(cudaStream_t stream, Span<float> y) {
  launch(two_forms_kernel, 1, 32, 0, stream, y);
}

void write_behind(cudaStream_t stream, std::size_t beyond, Span<float> y) {
  launch(write_behind_kernel, 1, 1, 0, stream, beyond, y);
}

void unregistered(cudaStream_t stream, Span<float> y) {
  launch(unregistered_kernel, 1, 32, 0, stream, y);
}

void empty(cudaStream_t stream, dim3 grid, dim3 block, std::size_t shared_bytes) {
  launch(empty_kernel, grid, block, shared_bytes, stream);
}

}  // namespace annulus::test
