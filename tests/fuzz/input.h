// What fuzz targets share: bytes as a span, errors meant for users as the answer to bad input, and
// the invariants that must hold where there is none. Any other exception ends the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "data/dataset.h"
#include "kernels/check.h"

namespace annulus::fuzz {

using Input = std::span<const std::uint8_t>;

inline const std::filesystem::path kPath = "file";

inline void require(bool holds) {
  if (!holds) std::abort();
}

// A UserError(data) of one line is a good answer.
template <class Read>
void allow_data_errors(Read read) {
  try {
    read();
  } catch (const UserError& error) {
    require(error.code() == ExitCode::data);
    for (const char* c = error.what(); *c != '\0'; ++c)
      require(static_cast<unsigned char>(*c) >= ' ');
  }
}

inline void require_whole(const Dataset& dataset) {
  require(dataset.size() > 0);
  require(dataset.images.size() == dataset.size() * dataset.image.size());
  for (const std::uint8_t label : dataset.labels) require(label < dataset.classes);
}

}  // namespace annulus::fuzz
