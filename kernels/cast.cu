// Casts between fp32 and the half types: the conversions of cuda_bf16.h and cuda_fp16.h over whole
// arrays. For layers that keep activations in a half type.
#include "kernels/cast.h"

#include "kernels/simt.h"

namespace annulus {
namespace {

__global__ void float_to_bfloat16(Span<const float> x, Span<__nv_bfloat16> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = __float2bfloat16_rn(x[i]);
}
__global__ void bfloat16_to_float(Span<const __nv_bfloat16> x, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = __bfloat162float(x[i]);
}
__global__ void float_to_half(Span<const float> x, Span<__half> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = __float2half_rn(x[i]);
}
__global__ void half_to_float(Span<const __half> x, Span<float> y) {
  for (std::size_t i : grid_stride(y.size)) y[i] = __half2float(x[i]);
}

template <class X, class Y>
void cast_with(void (*kernel)(Span<const X>, Span<Y>), cudaStream_t stream, Span<const X> x,
               Span<Y> y) {
  if (!y.empty()) launch(kernel, grid_for(y.size), kBlock, 0, stream, x, y);
}

}  // namespace

void cast(cudaStream_t stream, Span<const float> x, Span<__nv_bfloat16> y) {
  cast_with(float_to_bfloat16, stream, x, y);
}
void cast(cudaStream_t stream, Span<const __nv_bfloat16> x, Span<float> y) {
  cast_with(bfloat16_to_float, stream, x, y);
}
void cast(cudaStream_t stream, Span<const float> x, Span<__half> y) {
  cast_with(float_to_half, stream, x, y);
}
void cast(cudaStream_t stream, Span<const __half> x, Span<float> y) {
  cast_with(half_to_float, stream, x, y);
}

namespace {
SIMT_ELEMENTWISE(float_to_bfloat16)
SIMT_ELEMENTWISE(bfloat16_to_float)
SIMT_ELEMENTWISE(float_to_half)
SIMT_ELEMENTWISE(half_to_float)
}  // namespace

}  // namespace annulus
