// Decides which data a run uses, loads it, and measures what normalisation needs.
#include "data/dataset.h"

#include <cmath>
#include <cstdlib>
#include <future>

#include "data/checksum.h"
#include "data/recognise.h"
#include "data/synthetic.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

constexpr const char* kSynthetic = "synthetic";

const DeclaredEnvironment kDeclared("Data", {{"ANNULUS_DATA", "synthetic", "a folder, or synthetic",
                                              "what --data says, where that is not given"}});

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

std::string checksum_of(const Datasets& datasets) {
  Sha256 checksum;
  for (const Dataset* dataset : {&datasets.train, &datasets.test}) {
    checksum.add(dataset->images);
    checksum.add(dataset->labels);
  }
  return checksum.finish();
}

}  // namespace

Datasets load_datasets(const DataOptions& options) {
  const auto [spec, choice] = decide(options.spec);
  Datasets datasets = spec == kSynthetic ? make_synthetic(options.seed) : read_datasets(spec);
  datasets.choice = choice;
  // Both read every byte: at the same time, a run starts sooner. Where no thread can be had, this
  // runs when it is asked for.
  std::future<std::string> checksum = std::async([&] { return checksum_of(datasets); });
  measure_channels(datasets.train, datasets.mean, datasets.std_dev);
  datasets.checksum = checksum.get();
  return datasets;
}

std::string how_to_get_data() {
  return "data: neither --data nor ANNULUS_DATA is set, so this run uses the generated set "
         "'synthetic'. For CIFAR-10 fetch\n"
         "  https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz "
         "(MD5 c32a1d4ab5d03f1284b67883e8d87530)\n"
         "and type:\n"
         "  ./dev train --data cifar-10-binary.tar.gz\n"
         "CIFAR-100, MNIST, Fashion-MNIST, other versions and unpacked folders are read too: "
         "docs/data.md\n";
}

}  // namespace annulus
