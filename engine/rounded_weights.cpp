// See rounded_weights.h.
#include "engine/rounded_weights.h"

#include "kernels/cast.h"

namespace annulus {

RoundedWeights::RoundedWeights(const Precision& precision, std::size_t parameters)
    : element_(precision.element),
      copy_(element_ == Element::fp32 ? 0 : parameters * precision.bytes()) {}

AnyInput RoundedWeights::of(Span<const float> parameters, cudaStream_t stream) const {
  if (element_ == Element::fp32) return parameters;
  const AnyOutput copy(copy_.span().data, parameters.size, element_);
  cast_to_half(stream, parameters, copy);
  return copy;
}

}  // namespace annulus
