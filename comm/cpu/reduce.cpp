// One loop per type, which the compiler vectorises.
#include "comm/cpu/reduce.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace annulus::cpu::nccl {
namespace {

template <class T>
T sum(T left, T right) {
  if constexpr (std::is_integral_v<T>) {  // wraps round, as on a GPU
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(left) + static_cast<Unsigned>(right));
  } else if constexpr (std::is_floating_point_v<T>) {
    return left + right;
  } else {
    return T(static_cast<float>(left) + static_cast<float>(right));
  }
}

template <class T>
T quotient(T value, int divisor) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value / static_cast<T>(divisor));
  } else if constexpr (std::is_floating_point_v<T>) {
    return value / static_cast<T>(divisor);
  } else {
    return T(static_cast<float>(value) / static_cast<float>(divisor));
  }
}

template <class Work>
void with_type(ncclDataType_t type, const Work& work) {
  switch (type) {
    case ncclInt8:
      return work(std::int8_t{});
    case ncclUint8:
      return work(std::uint8_t{});
    case ncclInt32:
      return work(std::int32_t{});
    case ncclUint32:
      return work(std::uint32_t{});
    case ncclInt64:
      return work(std::int64_t{});
    case ncclUint64:
      return work(std::uint64_t{});
    case ncclFloat16:
      return work(__half{});
    case ncclFloat32:
      return work(float{});
    case ncclFloat64:
      return work(double{});
    case ncclBfloat16:
      return work(__nv_bfloat16{});
    default:
      return;  // refused when the call was made
  }
}

}  // namespace

void add(ncclDataType_t type, const std::byte* left, const std::byte* right, std::byte* out,
         std::size_t count) {
  with_type(type, [&]<class T>(T) {
    const T* a = reinterpret_cast<const T*>(left);
    const T* b = reinterpret_cast<const T*>(right);
    T* c = reinterpret_cast<T*>(out);
#pragma GCC ivdep  // out is left, right or apart from both
    for (std::size_t i = 0; i < count; ++i) c[i] = sum(a[i], b[i]);
  });
}

void divide(ncclDataType_t type, std::byte* data, int divisor, std::size_t count) {
  with_type(type, [&]<class T>(T) {
    T* values = reinterpret_cast<T*>(data);
    for (std::size_t i = 0; i < count; ++i) values[i] = quotient(values[i], divisor);
  });
}

}  // namespace annulus::cpu::nccl
