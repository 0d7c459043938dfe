// See cifar.h. What looks like another version of the data (gzip, Python pickle, the other CIFAR)
// is named as such: a file of the wrong kind, read as records, would train on noise.
#include "data/cifar.h"

#include <utility>

#include "data/data_error.h"
#include "data/gzip.h"

namespace annulus {
namespace {

constexpr std::size_t kPlane = std::size_t{kCifarSide} * kCifarSide;
constexpr std::string_view kUnpackAgain = "get it again, or unpack its archive again";

const Cifar& other(const Cifar& cifar) { return &cifar == &kCifar10 ? kCifar100 : kCifar10; }

void check_holds_records(const Cifar& cifar, const std::filesystem::path& path,
                         std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) throw_data_error(path, "is empty: no images; {}", kUnpackAgain);
  if (is_gzip(bytes))
    throw_data_error(path, "holds gzip data; run: mv {0} {0}.gz && gunzip {0}.gz", path.string());
  if (bytes[0] == 0x80)
    throw_data_error(path,
                     "holds a Python pickle, not binary records; the Python version has no .bin in "
                     "its files' names");
  if (bytes.size() % cifar.record() == 0) return;
  if (bytes.size() % other(cifar).record() == 0)
    throw_data_error(path,
                     "{0} is not a multiple of {1} ({2} record is {3}): this looks like {2}; name "
                     "its files as {2} does, or get {4}",
                     bytes.size(), cifar.record(), other(cifar).name, other(cifar).record(),
                     cifar.name);
  throw_data_error(path,
                   "{} bytes is not a multiple of {}, the size of a record: cut short or damaged; "
                   "{}",
                   bytes.size(), cifar.record(), kUnpackAgain);
}

void check_label(const Cifar& cifar, const std::filesystem::path& path, const char* which,
                 int label, int classes, std::size_t record) {
  if (label >= classes)
    throw_data_error(path, "{}label {} in record {} is above {}: damaged, or not {}; {}", which,
                     label, record, classes - 1, cifar.name, kUnpackAgain);
}

}  // namespace

Dataset empty_cifar(const Cifar& cifar) {
  Dataset dataset;
  dataset.name = cifar.name;
  dataset.image = {kCifarSide, kCifarSide, kCifarChannels};
  dataset.classes = cifar.classes;
  if (cifar.classes == kCifar10.classes) {
    dataset.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                           "dog",      "frog",       "horse", "ship", "truck"};
    return dataset;
  }
  for (int i = 0; i < cifar.classes; ++i) dataset.class_names.push_back(std::to_string(i));
  return dataset;
}

void set_class_names(std::vector<std::string> names, Dataset& dataset) {
  if (names.size() == static_cast<std::size_t>(dataset.classes))
    dataset.class_names = std::move(names);
}

void append_cifar_records(const Cifar& cifar, const std::filesystem::path& path,
                          std::span<const std::uint8_t> bytes, Dataset& dataset) {
  check_holds_records(cifar, path, bytes);
  const std::size_t records = bytes.size() / cifar.record();
  const std::size_t labels = cifar.record() - kCifarPixels;
  for (std::size_t record = 0; record < records; ++record) {
    const std::uint8_t* label = bytes.data() + record * cifar.record();
    if (cifar.coarse_classes > 0) {
      check_label(cifar, path, "coarse ", *label, cifar.coarse_classes, record);
      dataset.coarse_labels.push_back(*label++);
    }
    check_label(cifar, path, "", *label, cifar.classes, record);
    dataset.labels.push_back(*label);
  }
  append_cifar_planes(bytes.subspan(labels), cifar.record(), records, dataset);
}

void append_cifar_planes(std::span<const std::uint8_t> planes, std::size_t stride,
                         std::size_t count, Dataset& dataset) {
  const std::size_t first = dataset.images.size();
  dataset.images.resize(first + count * kCifarPixels);
  for (std::size_t image = 0; image < count; ++image) {
    const std::uint8_t* from = planes.data() + image * stride;
    std::uint8_t* to = dataset.images.data() + first + image * kCifarPixels;
    for (std::size_t i = 0; i < kPlane; ++i)
      for (std::size_t c = 0; c < kCifarChannels; ++c)
        to[i * kCifarChannels + c] = from[c * kPlane + i];
  }
}

void split_planes(std::span<const std::uint8_t> pixels, std::span<std::uint8_t> planes) {
  for (std::size_t i = 0; i < kPlane; ++i)
    for (std::size_t c = 0; c < kCifarChannels; ++c)
      planes[c * kPlane + i] = pixels[i * kCifarChannels + c];
}

}  // namespace annulus
