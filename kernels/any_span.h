// AnySpan: device memory whose numbers' type is known at run time only, because it follows from a
// model's precision. Made from a Span by itself; whoever takes one checks the element. Called by
// conv, gemm and the engine, whose activations are all of this kind.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "kernels/precision.h"
#include "kernels/span.h"

namespace annulus {

template <class T>
inline constexpr Element kElementOf = [] {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, __nv_bfloat16> ||
                std::is_same_v<T, __half>);
  if (std::is_same_v<T, float>) return Element::fp32;
  return std::is_same_v<T, __nv_bfloat16> ? Element::bf16 : Element::fp16;
}();

// That in which arrays of T are multiplied as they are.
template <class T>
inline constexpr Precision kPrecisionOf = kElementOf<T> == Element::fp32   ? kFp32
                                          : kElementOf<T> == Element::bf16 ? kBf16
                                                                           : kFp16;

// Void: void or const void.
template <class Void>
struct AnySpan {
  Void* data = nullptr;
  std::size_t size = 0;  // elements, not bytes
  Element element = Element::fp32;

  AnySpan() = default;
  AnySpan(Void* first, std::size_t count, Element kind) : data(first), size(count), element(kind) {}
  template <class Other>
  requires(std::is_void_v<Other>&& std::is_const_v<Void>) AnySpan(const AnySpan<Other>& span)
      : data(span.data), size(span.size), element(span.element) {}
  template <class T>
  requires std::is_convertible_v<T*, Void*> AnySpan(Span<T> span)
      : data(span.data), size(span.size), element(kElementOf<std::remove_const_t<T>>) {}

  bool empty() const { return size == 0; }
  std::size_t bytes() const { return size * bytes_of(element); }
  AnySpan subspan(std::size_t offset, std::size_t count) const {
    using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
    return {static_cast<Byte*>(data) + offset * bytes_of(element), count, element};
  }

  // Whoever knows the type: the caller has looked at `element`.
  template <class T>
  Span<T> as() const {
    return {static_cast<T*>(data), size};
  }
};

using AnyInput = AnySpan<const void>;
using AnyOutput = AnySpan<void>;

// Throws DeviceError, in the name of `caller`, where one of the arrays holds another element.
void require_element(Element element, std::initializer_list<AnyInput> arrays, const char* caller);

// Returns body.template operator()<T>() with the type of such elements: how a caller that has only
// an Element reaches a launcher that is a template, as those of kernels/activation.h.
template <class Body>
decltype(auto) with_element(Element element, Body&& body) {
  switch (element) {
    case Element::bf16:
      return body.template operator()<__nv_bfloat16>();
    case Element::fp16:
      return body.template operator()<__half>();
    case Element::fp32:
      break;
  }
  return body.template operator()<float>();
}

}  // namespace annulus
