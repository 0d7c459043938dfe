// A generated data set of ten classes of 32x32 RGB images, which a small CNN learns in a few
// hundred steps and a linear model does not learn at all. The class is a texture (stripes, checks,
// rings, … fine or coarse) in a disc of random place, phase, contrast and colour on noise, so the
// mean image of every class is the same. Invariant: an image depends on the seed and its index
// alone, is the same on every machine, and keeps its class when mirrored or shifted. Called by
// load_datasets where no real data is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/dataset.h"

namespace annulus {

// Images first … first+count-1 of the endless sequence that `seed` names; image i has class i % 10.
Dataset synthetic_images(std::uint64_t seed, std::uint32_t first, std::uint32_t count);

// 10,000 training and 2,000 test images; fills train, test, format and source.
Datasets make_synthetic(std::uint64_t seed);

}  // namespace annulus
