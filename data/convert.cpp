// See convert.h. One file at a time is put together in memory and written.
#include "data/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "data/cifar.h"
#include "data/new_folder.h"
#include "data/pickle_writer.h"
#include "kernels/check.h"

namespace annulus {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Images first … first+count-1 of a set: what one file holds.
struct Part {
  const Dataset& dataset;
  std::size_t first, count;

  std::span<const std::uint8_t> labels() const {
    return std::span(dataset.labels).subspan(first, count);
  }
  std::span<const std::uint8_t> coarse_labels() const {
    return std::span(dataset.coarse_labels).subspan(first, count);
  }
  std::span<const std::uint8_t> pixels(std::size_t i) const {
    const std::size_t size = dataset.image.size();
    return std::span(dataset.images).subspan((first + i) * size, size);
  }
};

Part whole(const Dataset& dataset) { return {dataset, 0, dataset.size()}; }

// CIFAR-10's training files: as alike in size as can be, the first ones one image longer.
Part share(const Dataset& dataset, std::size_t part, std::size_t parts) {
  const std::size_t each = dataset.size() / parts, extra = dataset.size() % parts;
  return {dataset, part * each + std::min(part, extra), each + (part < extra ? 1 : 0)};
}

bool is_hundred(const Datasets& datasets) { return !datasets.train.coarse_labels.empty(); }

[[noreturn]] void refuse(const Datasets& datasets, const std::string& layout,
                         std::string_view why) {
  const ImageShape& image = datasets.train.image;
  throw UserError(ExitCode::usage,
                  fmt::format("--to {}: {}, but {} has {} images of {}x{}x{} in {} classes", layout,
                              why, datasets.train.name, datasets.train.size(), image.height,
                              image.width, image.channels, datasets.train.classes));
}

void check_fits_cifar(const Datasets& datasets, const std::string& layout) {
  const ImageShape& image = datasets.train.image;
  if (image.height != kCifarSide || image.width != kCifarSide || image.channels != kCifarChannels)
    refuse(datasets, layout, "CIFAR's layouts hold 32x32x3 (--to idx holds one channel)");
  if (!is_hundred(datasets) && datasets.train.size() < kCifar10TrainRecords.size())
    refuse(datasets, layout, "CIFAR-10's layouts have five training files");
}

void check_fits_idx(const Datasets& datasets, const std::string& layout) {
  if (datasets.train.image.channels != 1)
    refuse(datasets, layout,
           "idx, as readers of MNIST know it, holds one channel (--to cifar-bin holds three)");
}

Bytes records(const Part& part) {
  const bool hundred = !part.dataset.coarse_labels.empty();
  Bytes bytes;
  bytes.reserve(part.count * (hundred ? kCifar100 : kCifar10).record());
  for (std::size_t i = 0; i < part.count; ++i) {
    if (hundred) bytes.push_back(part.coarse_labels()[i]);
    bytes.push_back(part.labels()[i]);
    bytes.resize(bytes.size() + kCifarPixels);
    split_planes(part.pixels(i), std::span(bytes).last(kCifarPixels));
  }
  return bytes;
}

// The originals' "filenames" are lost in the binary version; these say the class and the place.
std::vector<std::string> file_names(const Part& part) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < part.count; ++i)
    names.push_back(fmt::format("{}_s_{:06}.png", part.dataset.class_names[part.labels()[i]],
                                part.first + i + 1));
  return names;
}

Bytes pickled(const Part& part, const std::string& batch_label) {
  Bytes planes(part.count * kCifarPixels);
  for (std::size_t i = 0; i < part.count; ++i)
    split_planes(part.pixels(i), std::span(planes).subspan(i * kCifarPixels, kCifarPixels));
  PickleWriter pickle;
  pickle.begin_dict().string("batch_label").string(batch_label);
  if (part.dataset.coarse_labels.empty())
    pickle.string("labels").integers(part.labels());
  else
    pickle.string("fine_labels")
        .integers(part.labels())
        .string("coarse_labels")
        .integers(part.coarse_labels());
  pickle.string("data").uint8_array(static_cast<std::int32_t>(part.count), kCifarPixels, planes);
  pickle.string("filenames").strings(file_names(part));
  return pickle.end_dict();
}

Bytes pickled_meta(const Datasets& datasets) {
  PickleWriter pickle;
  pickle.begin_dict().string(is_hundred(datasets) ? "fine_label_names" : "label_names");
  pickle.strings(datasets.train.class_names).string("num_vis").integer(kCifarPixels);
  return pickle.end_dict();
}

Bytes name_lines(const std::vector<std::string>& names) {
  Bytes lines;
  for (const std::string& name : names) {
    lines.insert(lines.end(), name.begin(), name.end());
    lines.push_back('\n');
  }
  return lines;
}

void write_cifar_records(const Datasets& datasets, const NewFolder& folder) {
  if (is_hundred(datasets)) {
    folder.add("train.bin", records(whole(datasets.train)));
    folder.add("test.bin", records(whole(datasets.test)));
    folder.add("fine_label_names.txt", name_lines(datasets.train.class_names));
    return;
  }
  for (std::size_t i = 0; i < kCifar10TrainRecords.size(); ++i)
    folder.add(kCifar10TrainRecords[i],
               records(share(datasets.train, i, kCifar10TrainRecords.size())));
  folder.add("test_batch.bin", records(whole(datasets.test)));
  folder.add("batches.meta.txt", name_lines(datasets.train.class_names));
}

void write_cifar_pickles(const Datasets& datasets, const NewFolder& folder) {
  if (is_hundred(datasets)) {
    folder.add("train", pickled(whole(datasets.train), "training batch 1 of 1"));
    folder.add("test", pickled(whole(datasets.test), "testing batch 1 of 1"));
    folder.add("meta", pickled_meta(datasets));
    return;
  }
  const std::size_t files = kCifar10TrainPickles.size();
  for (std::size_t i = 0; i < files; ++i)
    folder.add(kCifar10TrainPickles[i],
               pickled(share(datasets.train, i, files),
                       fmt::format("training batch {} of {}", i + 1, files)));
  folder.add("test_batch", pickled(whole(datasets.test), "testing batch 1 of 1"));
  folder.add("batches.meta", pickled_meta(datasets));
}

// The header of idx.h, then the values.
Bytes idx(const std::vector<std::size_t>& sizes, std::span<const std::uint8_t> values) {
  Bytes bytes = {0, 0, 8, static_cast<std::uint8_t>(sizes.size())};
  for (const std::size_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<std::uint8_t>(size >> shift));
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

void write_idx_files(const Datasets& datasets, const NewFolder& folder) {
  const auto write = [&](const std::string& prefix, const Dataset& dataset) {
    const std::size_t height = dataset.image.height, width = dataset.image.width;
    folder.add(prefix + "-images-idx3-ubyte", idx({dataset.size(), height, width}, dataset.images));
    folder.add(prefix + "-labels-idx1-ubyte", idx({dataset.size()}, dataset.labels));
  };
  write("train", datasets.train);
  write("t10k", datasets.test);
}

struct Conversion {
  void (*check)(const Datasets&, const std::string& layout);
  void (*write)(const Datasets&, const NewFolder&);
};

constexpr std::array<Conversion, 3> kConversions = {{
    {check_fits_cifar, write_cifar_records},
    {check_fits_cifar, write_cifar_pickles},
    {check_fits_idx, write_idx_files},
}};

}  // namespace

const std::vector<std::string>& conversions() {
  static const std::vector<std::string> names = {"cifar-bin", "cifar-py", "idx"};
  return names;
}

void convert(const Datasets& datasets, const std::string& layout,
             const std::filesystem::path& out) {
  const auto& names = conversions();
  const auto index = std::find(names.begin(), names.end(), layout) - names.begin();
  const Conversion& conversion = kConversions.at(static_cast<std::size_t>(index));
  conversion.check(datasets, layout);
  NewFolder folder(out);
  conversion.write(datasets, folder);
  folder.publish();
}

}  // namespace annulus
