// Reads data files, whole or from front to back, or says why one cannot be read. Called by the
// format readers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "data/byte_source.h"

namespace annulus {

// Throws UserError(ExitCode::data) with the path and the system's reason: absent, not permitted,
// not a regular file, shorter than it said.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);

// The file as a stream; throws as read_file does, when it is opened and when it is read.
std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);

}  // namespace annulus
