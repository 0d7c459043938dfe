// Decides which data a run uses, loads it, and measures what normalisation needs.
#include "data/dataset.h"

#include <cmath>
#include <cstdlib>

#include "data/cifar.h"
#include "data/synthetic.h"

namespace annulus {
namespace {

constexpr const char* kSynthetic = "synthetic";

// An empty variable counts as unset.
std::string environment_spec() {
  const char* folder = std::getenv("ANNULUS_DATA");
  return folder == nullptr ? "" : folder;
}

struct Decision {
  std::string spec;
  DataChoice choice;
};

Decision decide(const std::string& option) {
  if (!option.empty()) return {option, DataChoice::option};
  if (const std::string spec = environment_spec(); !spec.empty())
    return {spec, DataChoice::environment};
  return {kSynthetic, DataChoice::fallback};
}

// Whole numbers add up exactly: sums of bytes and of their squares stay far below 2^64.
void measure_channels(const Dataset& dataset, std::array<float, 4>& mean,
                      std::array<float, 4>& std_dev) {
  std::array<std::uint64_t, 4> sum{}, sum_of_squares{};
  const std::size_t channels = dataset.image.channels;
  for (std::size_t i = 0; i < dataset.images.size(); i += channels)
    for (std::size_t c = 0; c < channels; ++c) {
      const std::uint64_t value = dataset.images[i + c];
      sum[c] += value;
      sum_of_squares[c] += value * value;
    }
  const std::size_t pixels = dataset.images.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const double average = static_cast<double>(sum[c]) / pixels;
    const double variance = static_cast<double>(sum_of_squares[c]) / pixels - average * average;
    mean[c] = static_cast<float>(average);
    // A channel of one value is 0 after normalisation whatever it is divided by.
    std_dev[c] = variance > 0 ? static_cast<float>(std::sqrt(variance)) : 1.f;
  }
}

}  // namespace

Datasets load_datasets(const DataOptions& options) {
  const auto [spec, choice] = decide(options.spec);
  Datasets datasets = spec == kSynthetic ? make_synthetic(options.seed) : read_cifar10(spec);
  datasets.choice = choice;
  measure_channels(datasets.train, datasets.mean, datasets.std_dev);
  return datasets;
}

std::string how_to_get_cifar10() {
  return "data: neither --data nor ANNULUS_DATA is set, so this run uses the generated set "
         "'synthetic'. For CIFAR-10 fetch\n"
         "  https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz "
         "(MD5 c32a1d4ab5d03f1284b67883e8d87530),\n"
         "  unpack it: tar -xzf cifar-10-binary.tar.gz (it makes the folder cifar-10-batches-bin), "
         "then type:\n"
         "  ./dev train --data cifar-10-batches-bin";
}

}  // namespace annulus
