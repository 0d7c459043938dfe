// Activations as kernels touch them. They are stored as float, bfloat16 or half (T below); a kernel
// widens what it loads, computes in float, and rounds once, to nearest even, where it stores. A
// packet is the 16 bytes that a GPU thread moves at once, 4 floats or 8 halves of neighbouring
// channels; where an address or a number of channels does not allow packets, elements are moved one
// by one. Called by the kernels that read or write activations.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/simt.h"
#include "kernels/span.h"

// apply(T) for every type of activations: what a file registers and instantiates for each of them.
#define ANNULUS_FOR_ACTIVATION_TYPES(apply) apply(float) apply(__nv_bfloat16) apply(__half)

// Registers kernel<T, width> for both widths of with_channel_width, and their one CPU form.
#define SIMT_KERNEL_BY_CHANNELS(kernel, cpu_form, T) \
  SIMT_KERNEL(kernel<T, 1>)                          \
  SIMT_KERNEL(kernel<T, kPacket<T>>)                 \
  SIMT_CPU_FORM((kernel<T, 1>), (cpu_form<T>))       \
  SIMT_CPU_FORM((kernel<T, kPacket<T>>), (cpu_form<T>))

namespace annulus {

inline constexpr std::size_t kPacketBytes = 16;
template <class T>
inline constexpr int kPacket = kPacketBytes / sizeof(T);  // elements

// `width` neighbouring elements, widened.
template <int width>
struct Floats {
  float at[width];

  SPAN_FN float& operator[](int i) { return at[i]; }
  SPAN_FN float operator[](int i) const { return at[i]; }
  SPAN_FN Floats& operator+=(const Floats& other) {
    for (int i = 0; i < width; ++i) at[i] += other.at[i];
    return *this;
  }
};

// A width as an argument; std::integral_constant does not convert in device code.
template <int width>
struct Width {
  SPAN_FN constexpr operator int() const { return width; }
};

namespace packet {

// What one instruction moves.
struct alignas(kPacketBytes) Words {
  std::uint32_t word[4];
};

template <class T, int width>
struct Elements {
  T at[width];
};
// Packets of elements, which they may alias.
template <class T, int width>
struct [[gnu::may_alias]] Moved {
  Words words[width * sizeof(T) / kPacketBytes];
};

// The address of `width` elements, all of which lie inside the span.
template <int width, class T>
SPAN_FN T* place(Span<T> span, std::size_t first) {
  return &span[first + (width - 1)] - (width - 1);
}

}  // namespace packet

// from[first, first + width). A width of 1 moves an element, any other whole packets.
template <int width, class T>
SPAN_FN Floats<width> load(Span<const T> from, std::size_t first) {
  Floats<width> floats;
  if constexpr (width == 1) {
    floats[0] = static_cast<float>(from[first]);
  } else {
    using Moved = packet::Moved<T, width>;
    const auto moved = *reinterpret_cast<const Moved*>(packet::place<width>(from, first));
    const auto elements = __builtin_bit_cast(packet::Elements<T, width>, moved);
    for (int i = 0; i < width; ++i) floats[i] = static_cast<float>(elements.at[i]);
  }
  return floats;
}

template <int width, class T>
SPAN_FN void store(Span<T> to, std::size_t first, const Floats<width>& floats) {
  if constexpr (width == 1) {
    to[first] = static_cast<T>(floats[0]);
  } else {
    using Moved = packet::Moved<T, width>;
    packet::Elements<T, width> elements;
    for (int i = 0; i < width; ++i) elements.at[i] = static_cast<T>(floats[i]);
    *reinterpret_cast<Moved*>(packet::place<width>(to, first)) =
        __builtin_bit_cast(Moved, elements);
  }
}

// The same one by one, for fp32 arrays of channels, which lie anywhere in their buffer.
template <int width>
SPAN_FN Floats<width> load_each(Span<const float> from, std::size_t first) {
  Floats<width> floats;
  for (int i = 0; i < width; ++i) floats[i] = from[first + i];
  return floats;
}
template <int width>
SPAN_FN void store_each(Span<float> to, std::size_t first, const Floats<width>& floats) {
  for (int i = 0; i < width; ++i) to[first + i] = floats[i];
}

// f of each element of its arguments.
template <class F, int width, class... More>
SPAN_FN Floats<width> map(F f, const Floats<width>& first, const More&... more) {
  Floats<width> result;
  for (int i = 0; i < width; ++i) result[i] = f(first[i], more[i]...);
  return result;
}

// Whether packets of the spans begin where one instruction can move them.
template <class... T>
SPAN_FN bool are_aligned(const Span<T>&... spans) {
  return ((reinterpret_cast<std::uintptr_t>(spans.data) % kPacketBytes == 0) && ...);
}

// The one loop of an elementwise kernel over n elements: body(i, width) for packets of `width`
// elements, then for single ones; width is a compile-time constant. On the CPU device the loop is
// over single elements, which the compiler vectorises as it likes best; emulated threads take
// packets as a GPU's do.
template <int width, class Body>
__device__ __forceinline__ void for_packets(std::size_t n, bool aligned, const Body& body) {
#if !defined(__CUDACC__)
  if (!simt::is_emulated()) {
    for (std::size_t i : grid_stride(n)) body(i, Width<1>{});
    return;
  }
#endif
  const std::size_t packets = aligned ? n / width : 0, in_packets = packets * width;
  for (std::size_t i : grid_stride(packets + (n - in_packets))) {
    if (i < packets)
      body(i * width, Width<width>{});
    else
      body(in_packets + (i - packets), Width<1>{});
  }
}

// Calls body with the number of channels that a thread takes at once, as a compile-time constant:
// a packet where every pixel's channels are whole packets, else one.
template <class T, class Body, class... Spans>
void with_channel_width(std::size_t channels, Body&& body, const Spans&... spans) {
  if (channels % kPacket<T> == 0 && are_aligned(spans...))
    body(Width<kPacket<T>>{});
  else
    body(Width<1>{});
}

}  // namespace annulus
