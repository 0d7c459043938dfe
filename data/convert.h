// Writes a data set in another layout, which Annulus and other programs read: reading it back gives
// the same images and labels, so the same checksum. Called by `annulus data convert`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace annulus {

// "cifar-bin", "cifar-py", "idx".
const std::vector<std::string>& conversions();

// Makes the folder `out`, whole or not at all. Throws UserError: usage where the layout cannot hold
// the set, or where `out` exists; storage where it cannot be written.
void convert(const Datasets& datasets, const std::string& layout, const std::filesystem::path& out);

}  // namespace annulus
