// Finds a data set and reads it: one function for training and for `annulus data`, so that both see
// the same. Never opens a network connection. Called by load_datasets.
#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace annulus {

// `path`: a folder that holds a set's files or has such a folder or archive in it, or the archive
// itself. Fills train, test, format and source. Throws UserError(data) naming the folder or file,
// the fact and the fix.
Datasets read_datasets(const std::filesystem::path& path);

}  // namespace annulus
