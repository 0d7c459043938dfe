// simt.h under g++: CUDA's kernel language for the CPU device. Thread indices, barriers, shuffles
// and atomics act on the emulated block that the calling host thread is running; the runtime behind
// them is kernels/cpu/cudart.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "kernels/simt_host.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static thread_local  // one host thread runs one block at a time

extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = 32;

namespace annulus::simt {

enum class KernelKind { elementwise, general };

// A kernel as the runtime knows it. The functions take the kernel's parameters packed as one
// std::tuple.
struct Kernel {
  const void* address;
  const char* name;
  KernelKind kind;
  std::size_t packed_bytes;
  void (*pack)(void* const* arguments, void* packed);
  void (*run)(const void* packed);
  std::size_t (*accesses)(const void* packed, Access* out);
  void (*cpu_form)(const void* packed) = nullptr;
  std::size_t max_shared_bytes = kSharedWithoutAsking;  // dynamic; cudaFuncSetAttribute raises it
};
inline constexpr std::size_t kMaxPackedBytes = 1024;
inline constexpr std::size_t kMaxAccesses = 24;

bool register_kernel(const Kernel& kernel);
bool register_cpu_form(const void* address, void (*cpu_form)(const void* packed));

// The part of [0,n) that the running piece or emulated thread walks.
struct LoopRange {
  std::size_t begin, end;
};
LoopRange loop_range(std::size_t n);
// Whether an emulated thread is running, and not a piece or a CPU form.
bool is_emulated();

void block_barrier();
void warp_barrier(unsigned int mask);
void* dynamic_shared_memory();
unsigned int lane();
// Gives `value` to the warp and returns what `source_lane` gave.
std::uint64_t exchange(unsigned int mask, std::uint64_t value, unsigned int source_lane);
unsigned int ballot(unsigned int mask, bool predicate);

template <class T>
T shuffle(unsigned int mask, T value, unsigned int source_lane) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, source_lane);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
std::size_t add_access(const T&, Access*) {
  return 0;
}
template <class T>
std::size_t add_access(const Span<T>& span, Access* out) {
  if (span.empty()) return 0;
  *out = {span.data, span.bytes(), !std::is_const_v<T>};
  return 1;
}

template <class... Parameters>
using Packed = std::tuple<Parameters...>;

template <class... Parameters, std::size_t... I>
void pack(void* const* arguments, void* packed, std::index_sequence<I...>) {
  new (packed) Packed<Parameters...>(*static_cast<const Parameters*>(arguments[I])...);
}

template <auto function, class... Parameters>
void run_packed(const void* packed) {
  std::apply(function, *static_cast<const Packed<Parameters...>*>(packed));
}

template <auto kernel, class... Parameters>
Kernel describe(void (*)(Parameters...), const char* name, KernelKind kind) {
  static_assert(sizeof(Packed<Parameters...>) <= kMaxPackedBytes, "kernel parameters too large");
  static_assert(sizeof...(Parameters) <= kMaxAccesses, "too many kernel parameters");
  return {
      .address = reinterpret_cast<const void*>(kernel),
      .name = name,
      .kind = kind,
      .packed_bytes = sizeof(Packed<Parameters...>),
      .pack =
          [](void* const* arguments, void* packed) {
            pack<Parameters...>(arguments, packed, std::index_sequence_for<Parameters...>{});
          },
      .run = run_packed<kernel, Parameters...>,
      .accesses =
          [](const void* packed, Access* out) {
            return std::apply(
                [&](const Parameters&... parameters) {
                  std::size_t count = 0;
                  ((count += add_access(parameters, out + count)), ...);
                  return count;
                },
                *static_cast<const Packed<Parameters...>*>(packed));
          },
  };
}

template <auto function, class... Parameters>
bool register_cpu_form_of(void (*kernel)(Parameters...)) {
  static_assert(std::is_same_v<decltype(function), void (*)(Parameters...)>,
                "a CPU form has its kernel's parameters");
  return register_cpu_form(reinterpret_cast<const void*>(kernel),
                           run_packed<function, Parameters...>);
}

}  // namespace annulus::simt

namespace annulus {

// for (std::size_t i : grid_stride(n)): each i of [0,n) is walked by one thread of the grid. Here
// every piece or emulated thread walks one contiguous part with step 1, which the compiler
// vectorises.
class grid_stride {
 public:
  struct iterator {
    std::size_t index;
    std::size_t operator*() const { return index; }
    void operator++() { ++index; }
    bool operator!=(std::size_t end) const { return index < end; }
  };

  explicit grid_stride(std::size_t n) : range_(simt::loop_range(n)) {}
  iterator begin() const { return {range_.begin}; }
  std::size_t end() const { return range_.end; }

 private:
  simt::LoopRange range_;
};

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(simt::dynamic_shared_memory());
}

}  // namespace annulus

#define SIMT_JOIN_(a, b) a##b
#define SIMT_JOIN(a, b) SIMT_JOIN_(a, b)
#define SIMT_REGISTER_(kind_, ...)                                              \
  [[maybe_unused]] static const bool SIMT_JOIN(simt_registered_, __COUNTER__) = \
      ::annulus::simt::register_kernel(::annulus::simt::describe<&__VA_ARGS__>( \
          &__VA_ARGS__, #__VA_ARGS__, ::annulus::simt::KernelKind::kind_));
#define SIMT_ELEMENTWISE(...) SIMT_REGISTER_(elementwise, __VA_ARGS__)
#define SIMT_KERNEL(...) SIMT_REGISTER_(general, __VA_ARGS__)
#define SIMT_CPU_FORM(kernel, function)                                         \
  [[maybe_unused]] static const bool SIMT_JOIN(simt_registered_, __COUNTER__) = \
      ::annulus::simt::register_cpu_form_of<&function>(&kernel);

inline void __syncthreads() { annulus::simt::block_barrier(); }
inline void __syncwarp(unsigned int mask = ~0u) { annulus::simt::warp_barrier(mask); }

template <class T>
T __shfl_sync(unsigned int mask, T value, int source_lane) {
  return annulus::simt::shuffle(mask, value, static_cast<unsigned int>(source_lane) % 32);
}
template <class T>
T __shfl_xor_sync(unsigned int mask, T value, int lane_mask) {
  return annulus::simt::shuffle(
      mask, value, (annulus::simt::lane() ^ static_cast<unsigned int>(lane_mask)) % 32);
}
template <class T>
T __shfl_down_sync(unsigned int mask, T value, unsigned int delta) {
  const unsigned int lane = annulus::simt::lane();
  return annulus::simt::shuffle(mask, value, lane + delta < 32 ? lane + delta : lane);
}
template <class T>
T __shfl_up_sync(unsigned int mask, T value, unsigned int delta) {
  const unsigned int lane = annulus::simt::lane();
  return annulus::simt::shuffle(mask, value, lane >= delta ? lane - delta : lane);
}
inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return annulus::simt::ballot(mask, predicate != 0);
}

// Atomics return the value before. Blocks are emulated one after another, so sums of floats have
// one order.
inline unsigned int atomicAdd(unsigned int* address, unsigned int value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
inline int atomicAdd(int* address, int value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
inline unsigned int atomicOr(unsigned int* address, unsigned int value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
inline float atomicAdd(float* address, float value) {
  float before;
  __atomic_load(address, &before, __ATOMIC_RELAXED);
  float after = before + value;
  while (!__atomic_compare_exchange(address, &before, &after, true, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
    after = before + value;
  }
  return before;
}
