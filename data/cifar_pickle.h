// CIFAR-10 and CIFAR-100 in their Python version: each file a pickled dictionary with the pixels
// ("data", uint8 [N,3072], planes one after another) and the labels ("labels", or "fine_labels" and
// "coarse_labels"). Whether keys are str or bytes does not matter. Called by layouts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/cifar.h"

namespace annulus {

// Appends the images of one file to the data set as NHWC. `path` is for the error's words alone.
// Throws UserError(data) with the path and what the dictionary lacks or has instead.
void append_cifar_pickle(const Cifar& cifar, const std::filesystem::path& path,
                         std::span<const std::uint8_t> bytes, Dataset& dataset);

// The list of strings under `key`, of batches.meta or meta; empty where there is none.
std::vector<std::string> pickled_names(const std::filesystem::path& path,
                                       std::span<const std::uint8_t> bytes, std::string_view key);

}  // namespace annulus
