// CIFAR-10 and CIFAR-100 (A. Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html): what both
// versions, binary and Python, share, and the binary version: records of one label byte (CIFAR-100:
// coarse, then fine) and 3072 pixel bytes, red, green and blue plane one after another. Called by
// layouts, cifar_pickle and convert.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace annulus {

constexpr int kCifarSide = 32, kCifarChannels = 3;
constexpr std::size_t kCifarPixels = std::size_t{kCifarSide} * kCifarSide * kCifarChannels;

// A record's last label byte is the class; CIFAR-100 has a coarse label before it.
struct Cifar {
  std::string_view name;
  int classes;
  int coarse_classes;  // 0: there are none

  std::size_t record() const { return (coarse_classes > 0 ? 2 : 1) + kCifarPixels; }  // bytes
};

inline constexpr Cifar kCifar10 = {"CIFAR-10", 10, 0};
inline constexpr Cifar kCifar100 = {"CIFAR-100", 100, 20};

constexpr std::array<std::string_view, 5> kCifar10TrainRecords = {
    "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
    "data_batch_5.bin"};
constexpr std::array<std::string_view, 5> kCifar10TrainPickles = {
    "data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"};

// A data set without images; its classes have the names that the set's author gave them,
// CIFAR-100's their numbers.
Dataset empty_cifar(const Cifar& cifar);

// Replaces the class names, unless there are not as many as classes; they are for people only.
void set_class_names(std::vector<std::string> names, Dataset& dataset);

// Both append the images of one file to the data set as NHWC; `path` is for the error's words
// alone. Records: the file's bytes. Planes: [count,C,H,W], `stride` bytes from one image to the
// next.
void append_cifar_records(const Cifar& cifar, const std::filesystem::path& path,
                          std::span<const std::uint8_t> bytes, Dataset& dataset);
void append_cifar_planes(std::span<const std::uint8_t> planes, std::size_t stride,
                         std::size_t count, Dataset& dataset);

// [H,W,C] of one image to [C,H,W].
void split_planes(std::span<const std::uint8_t> pixels, std::span<std::uint8_t> planes);

}  // namespace annulus
