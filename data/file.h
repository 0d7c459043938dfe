// Reads a whole data file into memory, or says why it cannot be read. Called by the format readers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace annulus {

// Throws UserError(ExitCode::data) with the path and the system's reason: absent, not permitted,
// not a regular file, shorter than it said.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);

}  // namespace annulus
