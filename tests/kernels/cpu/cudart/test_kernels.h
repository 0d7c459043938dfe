// Launchers of the kernels that the CPU device's tests run.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/span.h"

namespace annulus::test {

void fill(cudaStream_t stream, float value, Span<float> y);
void scale(cudaStream_t stream, float factor, Span<const float> x, Span<float> y);
// Declare that they read or write, and touch nothing: races to report that are none to run into.
void declare_read(cudaStream_t stream, Span<const float> x);
void declare_write(cudaStream_t stream, Span<float> y);
// y[i] = a polynomial of x[i]: enough arithmetic to be vectorised.
void polynomial(cudaStream_t stream, Span<const float> x, Span<float> y);
// counts[i] += 1.
void count_visits(cudaStream_t stream, Span<std::uint32_t> counts);

// sums[b] = sum of the b-th of sums.size equal parts of x; a power of two of threads.
void block_sums(cudaStream_t stream, unsigned int threads, Span<const float> x, Span<float> sums);
// The same with __syncthreads left out of the loop: right only by luck.
void block_sums_without_barrier(cudaStream_t stream, unsigned int threads, Span<const float> x,
                                Span<float> sums);
// The same by shuffles within warps; threads <= 1024.
void warp_sums(cudaStream_t stream, unsigned int threads, Span<const float> x, Span<float> sums);

// The first `waiting` threads of a block wait at __syncthreads, the others return.
void diverge(cudaStream_t stream, unsigned int threads, unsigned int waiting, Span<float> y);
// Throws in block `block`, thread 3, while the other threads wait.
void fail(cudaStream_t stream, unsigned int block, Span<float> y);
// y[i] = global index of the thread, by the built-in variables, over a 3-d launch.
void thread_numbers(cudaStream_t stream, dim3 grid, dim3 block, Span<std::uint32_t> y);
// For each of 32 lanes: xor, down, up and broadcast shuffles and a ballot of odd lanes.
void shuffles(cudaStream_t stream, Span<std::uint32_t> y);
// Lanes 0-7 shuffle among themselves while the others do not.
void partial_warp(cudaStream_t stream, Span<std::uint32_t> y);
// counts[0] += 1 and total[0] += 0.5 per thread.
void atomics(cudaStream_t stream, unsigned int blocks, Span<std::uint32_t> counts,
             Span<float> total);
// Registered as elementwise with two loops.
void two_loops(cudaStream_t stream, Span<float> y);
// Has a CPU form that writes 1, while the kernel itself writes 2.
void two_forms(cudaStream_t stream, Span<float> y);
// Writes `beyond` elements behind the end of y, past any Span check.
void write_behind(cudaStream_t stream, std::size_t beyond, Span<float> y);
// Is not registered.
void unregistered(cudaStream_t stream, Span<float> y);
// Launch with these dimensions and nothing to do.
void empty(cudaStream_t stream, dim3 grid, dim3 block, std::size_t shared_bytes);

}  // namespace annulus::test
