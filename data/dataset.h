// The data sets of a run, wholly in host memory: where they came from, what they hold, how they are
// normalised. Invariant: images.size() == size() * image.size(), neither set is empty, and every
// label is below `classes`; nothing here ever opens a network connection. Called by engine/trainer
// (training and test set) and by the command line (what was chosen).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/augment.h"

namespace annulus {

struct Dataset {
  std::string name;  // "CIFAR-10", "MNIST", "synthetic"
  ImageShape image{};
  int classes = 0;
  std::vector<std::string> class_names;  // [classes]
  std::vector<std::uint8_t> images;      // [N,H,W,C]
  std::vector<std::uint8_t> labels;      // [N]
  std::vector<std::uint8_t>
      coarse_labels;  // [N] of CIFAR-100, which are kept for conversions; else []

  std::size_t size() const { return labels.size(); }
};

struct DataOptions {
  std::string
      spec;  // a folder or archive, "synthetic", or empty: $ANNULUS_DATA if set, else synthetic
  std::uint64_t seed =
      1;  // of the synthetic set; not the run's seed, so that every run sees the same set
};

// Who decided on the data: --data, $ANNULUS_DATA, or nobody, so that the synthetic set stands in.
enum class DataChoice { option, environment, fallback };

struct Datasets {
  Dataset train, test;
  std::string format;  // "CIFAR-10, binary version"; "generated"
  std::string source;  // the folder or archive the files were found in, or "synthetic"
  DataChoice choice = DataChoice::option;
  // SHA-256 in hex over the training images, their labels, the test images, their labels, as the
  // bytes above: the same for every layout of a set.
  std::string checksum;
  // Per channel of the training images, in units of the uint8 input; what normalisation uses.
  std::array<float, 4> mean{}, std_dev{};
};

// Throws UserError(ExitCode::data) naming the file, the fact and the fix where a folder is missing
// or unusable.
Datasets load_datasets(const DataOptions& options);

// What to tell a user whose run fell back to the synthetic set: where real data can be had
// and what to type then.
std::string how_to_get_data();

}  // namespace annulus
