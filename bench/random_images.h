// Random images with labels in turn, so that a bench needs no data set. Used by bench_train and
// bench_overlap.
#pragma once

#include <cstddef>

#include "data/dataset.h"
#include "kernels/philox.h"

namespace annulus::bench {

inline Dataset random_images(std::size_t count) {
  Dataset data{.name = "random",
               .image = {32, 32, 3},
               .classes = 10,
               .class_names = {},
               .images = {},
               .labels = {}};
  data.images.resize(count * data.image.size());
  data.labels.resize(count);
  for (std::size_t i = 0; i < data.images.size(); ++i)
    data.images[i] = static_cast<std::uint8_t>(philox(1, 0, 0, 0, std::uint32_t(i)).x);
  for (std::size_t i = 0; i < count; ++i) data.labels[i] = static_cast<std::uint8_t>(i % 10);
  return data;
}

}  // namespace annulus::bench
