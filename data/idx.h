// The idx format of MNIST, Fashion-MNIST and the like (Y. LeCun, C. Cortes, C. Burges,
// http://yann.lecun.com/exdb/mnist): two zero bytes, the type (8: unsigned byte), the number of
// dimensions, each size as a big-endian 32-bit number, then the values. Plain or gzip, whatever the
// file's name says. Called by layouts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace annulus {

struct IdxFile {
  std::filesystem::path path;  // for the words of errors
  std::span<const std::uint8_t> bytes;
};

// Appends images and their labels (0 to classes-1) to a data set whose image shape is still
// {0,0,0}, or that of the file. Throws UserError(data) with the path and both sizes where header,
// contents and the two files do not agree.
void append_idx(const IdxFile& images, const IdxFile& labels, Dataset& dataset);

}  // namespace annulus
