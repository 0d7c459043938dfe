// CIFAR-10 in its binary version: six files of records of one label byte and 3072 pixel bytes, red,
// green and blue plane one after another (A. Krizhevsky,
// https://www.cs.toronto.edu/~kriz/cifar.html). Called by load_datasets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "data/dataset.h"

namespace annulus {

// Reads the six files from `folder`, or from the folder cifar-10-batches-bin in it; fills train,
// test, source and checksum (that of `cat data_batch_{1,2,3,4,5}.bin test_batch.bin | sha256sum`).
// Throws UserError(ExitCode::data) naming the folder or file, the fact and the fix.
Datasets read_cifar10(const std::filesystem::path& folder);

// A data set without records, for append_cifar10_records.
Dataset empty_cifar10();

// Appends the records of one file, its bytes given, to the data set as NHWC. `path` is for the
// error's words alone.
void append_cifar10_records(const std::filesystem::path& path, std::span<const std::uint8_t> bytes,
                            Dataset& dataset);

}  // namespace annulus
