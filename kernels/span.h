// Span: a typed view of device memory, passed by value to kernels and launchers.
// A kernel's Span<T> arguments say what it may write, its Span<const T> arguments what it may only
// read; the CPU device checks stream order and bounds from exactly this. Called by everything
// above; owns nothing.
#pragma once

#include <cstddef>
#include <type_traits>

#if defined(__CUDACC__)
#define SPAN_FN __host__ __device__ __forceinline__
#else
#define SPAN_FN inline __attribute__((always_inline))
#endif

namespace annulus {

#if defined(ANNULUS_CHECKED_SPANS) && !defined(__CUDACC__)
// Reports "out of span" with the running kernel's name and ends the kernel; defined in
// kernels/cpu/cudart.
[[noreturn]] void out_of_span(std::size_t index, std::size_t size);
#endif

// The two kinds are different types, so objects built with and without checks cannot be linked
// together by mistake.
#if defined(ANNULUS_CHECKED_SPANS)
inline namespace checked_spans {
#else
inline namespace plain_spans {
#endif

template <class T>
struct Span {
  T* data = nullptr;
  std::size_t size = 0;  // elements, not bytes

  SPAN_FN T& operator[](std::size_t i) const {
#if defined(ANNULUS_CHECKED_SPANS) && !defined(__CUDACC__)
    if (i >= size) out_of_span(i, size);
#endif
    return data[i];
  }
  SPAN_FN Span subspan(std::size_t offset, std::size_t count) const {
    return {data + offset, count};
  }
  SPAN_FN bool empty() const { return size == 0; }
  SPAN_FN std::size_t bytes() const { return size * sizeof(T); }
  SPAN_FN operator Span<const T>() const requires(!std::is_const_v<T>) { return {data, size}; }
};

}  // inline namespace

// A Span<const T> parameter that takes no part in deducing T: whoever writes a Span<T> may read one
// too.
template <class T>
using InputSpan = std::type_identity_t<Span<const T>>;

}  // namespace annulus
