// A buffer that collectives read and write every step: memory of its communicator
// (registered_memory.h), or plain device memory where there is none. Starts as zeros. May outlive
// its communicator. Used by engine/step.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/communicator.h"
#include "kernels/cuda.h"
#include "kernels/span.h"

namespace annulus {

template <class T>
class CollectiveBuffer {
 public:
  CollectiveBuffer(std::size_t count, Communicator* communicator) : count_(count) {
    if (count == 0) return;
    if (communicator)
      memory_ = communicator->allocate(bytes());
    else
      plain_ = Buffer<T>(count);
    CUDA_CHECK(cudaMemset(span().data, 0, bytes()));
    CUDA_CHECK(cudaStreamSynchronize(nullptr));  // our streams do not wait for the default one
  }

  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  Span<T> span() const {
    return memory_ ? Span<T>{static_cast<T*>(memory_.get()), count_} : plain_.span();
  }
  Span<const T> cspan() const { return span(); }

 private:
  std::size_t count_;
  std::shared_ptr<void> memory_;
  Buffer<T> plain_;
};

}  // namespace annulus
