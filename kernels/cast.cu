// Casts between fp32 and the half types: the conversions of cuda_bf16.h and cuda_fp16.h over whole
// arrays. For the weights' copies in a half type, and gradients on the wire.
#include "kernels/cast.h"

#include "kernels/packet.h"
#include "kernels/simt.h"

namespace annulus {
namespace cast_kernels {

template <class X, class Y>
__global__ void convert(Span<const X> x, Span<Y> y) {
  constexpr int kWidth = kPacket < X >> kPacket<Y> ? kPacket<X> : kPacket<Y>;
  for_packets<kWidth>(y.size, are_aligned(x, y),
                      [&](std::size_t i, auto width) { store(y, i, load<width>(x, i)); });
}
SIMT_ELEMENTWISE(convert<float, __nv_bfloat16>)
SIMT_ELEMENTWISE(convert<__nv_bfloat16, float>)
SIMT_ELEMENTWISE(convert<float, __half>)
SIMT_ELEMENTWISE(convert<__half, float>)

template <class X, class Y>
void launch_convert(cudaStream_t stream, Span<const X> x, Span<Y> y) {
  if (!y.empty()) launch(convert<X, Y>, grid_for(y.size), kBlock, 0, stream, x, y);
}

}  // namespace cast_kernels

void cast(cudaStream_t stream, Span<const float> x, Span<__nv_bfloat16> y) {
  cast_kernels::launch_convert(stream, x, y);
}
void cast(cudaStream_t stream, Span<const __nv_bfloat16> x, Span<float> y) {
  cast_kernels::launch_convert(stream, x, y);
}
void cast(cudaStream_t stream, Span<const float> x, Span<__half> y) {
  cast_kernels::launch_convert(stream, x, y);
}
void cast(cudaStream_t stream, Span<const __half> x, Span<float> y) {
  cast_kernels::launch_convert(stream, x, y);
}

void cast_to_half(cudaStream_t stream, Span<const float> x, AnyOutput y) {
  if (y.element == Element::bf16)
    cast(stream, x, y.as<__nv_bfloat16>());
  else
    cast(stream, x, y.as<__half>());
}
void cast_to_float(cudaStream_t stream, AnyInput x, Span<float> y) {
  if (x.element == Element::bf16)
    cast(stream, x.as<const __nv_bfloat16>(), y);
  else
    cast(stream, x.as<const __half>(), y);
}

}  // namespace annulus
