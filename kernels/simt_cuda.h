// simt.h under nvcc: the loop over the grid and dynamic shared memory; registration is nvcc's own
// business.
#pragma once

#define SIMT_ELEMENTWISE(...)
#define SIMT_KERNEL(...)
#define SIMT_CPU_FORM(kernel, function)

namespace annulus {

// for (std::size_t i : grid_stride(n)): the threads of the grid share [0,n), each taking every
// (threads of the grid)-th. One-dimensional grids and blocks.
class grid_stride {
 public:
  struct iterator {
    std::size_t index, step;
    __device__ std::size_t operator*() const { return index; }
    __device__ void operator++() { index += step; }
    __device__ bool operator!=(std::size_t end) const { return index < end; }
  };

  __device__ explicit grid_stride(std::size_t n) : n_(n) {}
  __device__ iterator begin() const {
    return {blockIdx.x * std::size_t{blockDim.x} + threadIdx.x,
            gridDim.x * std::size_t{blockDim.x}};
  }
  __device__ std::size_t end() const { return n_; }

 private:
  std::size_t n_;
};

// The launch's dynamic shared memory.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
}

}  // namespace annulus
