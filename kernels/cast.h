// Casts between fp32 and the half types, rounding to nearest even, NaN kept NaN.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/any_span.h"
#include "kernels/span.h"

namespace annulus {

void cast(cudaStream_t stream, Span<const float> x, Span<__nv_bfloat16> y);
void cast(cudaStream_t stream, Span<const __nv_bfloat16> x, Span<float> y);
void cast(cudaStream_t stream, Span<const float> x, Span<__half> y);
void cast(cudaStream_t stream, Span<const __half> x, Span<float> y);
// The half type is known at run time; fp32 is none.
void cast_to_half(cudaStream_t stream, Span<const float> x, AnyOutput y);
void cast_to_float(cudaStream_t stream, AnyInput x, Span<float> y);

}  // namespace annulus
