// Two ways to lay memory out before the first step, so that nothing allocates afterwards.
// ParameterArena: where each parameter lies in the flat parameter, gradient and optimizer buffers,
// in elements. ActivationArena: a first-fit allocator run once, in the order of the step, over
// offsets in bytes instead of memory; its peak is what the step needs. Called by engine/model
// (parameters) and engine/plan (activations).
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace annulus {

// A slice of a flat buffer: of the elements of a ParameterArena's, of the bytes of an
// ActivationArena's.
struct Slice {
  std::size_t offset = 0, size = 0;
};

// Every slice begins on a 256-byte boundary: the alignment of cudaMalloc, which cuDNN's vectorised
// engines need.
constexpr std::size_t kAlignBytes = 256, kAlignFloats = kAlignBytes / sizeof(float);
constexpr std::size_t align_up(std::size_t size, std::size_t to = kAlignFloats) {
  return (size + to - 1) / to * to;
}

class ParameterArena {
 public:
  Slice add(std::size_t floats) {
    const Slice slice{size_, floats};
    size_ += align_up(floats);
    return slice;
  }
  std::size_t size() const { return size_; }  // floats, padding included

 private:
  std::size_t size_ = 0;
};

class ActivationArena {
 public:
  Slice allocate(std::size_t bytes);
  void release(const Slice& slice);
  std::size_t peak() const { return peak_; }  // bytes

 private:
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes, neighbours merged
  std::size_t end_ = 0, peak_ = 0;
};

}  // namespace annulus
