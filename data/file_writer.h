// Writes a whole file: it appears under its name complete and for good, or not at all. Called by
// whatever leaves files that must survive a kill, a full disk and a power cut.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace annulus {

// Written beside the target under a temporary name (that of the target, a dot, this process's
// number, ".tmp"), synced, renamed; then the folder is synced. Throws UserError (storage) with the
// path and the system's reason; the temporary file is then gone and an older target unchanged. What
// is no regular file (a device, a link) is written in place.
void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

// Removes the temporary files that killed processes left beside targets whose names begin with
// `prefix`.
void remove_left_over_files(const std::filesystem::path& folder, std::string_view prefix);

}  // namespace annulus
