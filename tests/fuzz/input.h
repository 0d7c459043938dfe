// What fuzz targets share: bytes as a span or a text, errors meant for users as the answer to bad
// input, and the invariants that must hold where there is none. Any other exception ends the
// target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>

#include "data/dataset.h"
#include "kernels/check.h"

namespace annulus::fuzz {

using Input = std::span<const std::uint8_t>;

inline const std::filesystem::path kPath = "file";

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A UserError of one line with this code is a good answer.
template <class Read>
void allow_errors(ExitCode code, Read read) {
  try {
    read();
  } catch (const UserError& error) {
    require(error.code() == code);
    for (const char* c = error.what(); *c != '\0'; ++c)
      require(static_cast<unsigned char>(*c) >= ' ');
  }
}

template <class Read>
void allow_data_errors(Read read) {
  allow_errors(ExitCode::data, read);
}

inline void require_whole(const Dataset& dataset) {
  require(dataset.size() > 0);
  require(dataset.images.size() == dataset.size() * dataset.image.size());
  for (const std::uint8_t label : dataset.labels) require(label < dataset.classes);
}

}  // namespace annulus::fuzz
