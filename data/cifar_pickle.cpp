// See cifar_pickle.h. Reads what data files mean out of a Pickle's plain values; each part is
// compared with the others before a pixel is taken.
#include "data/cifar_pickle.h"

#include "data/data_error.h"
#include "data/pickle.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

// Both CIFARs by the keys of their labels.
constexpr std::string_view kLabels = "labels", kFineLabels = "fine_labels",
                           kCoarseLabels = "coarse_labels";

const PickleValue& dictionary(const Pickle& pickle) {
  if (pickle.root().kind != PickleKind::dict)
    throw_data_error(pickle.path(), "holds {}, not CIFAR's dictionary; get the file again",
                     name_of(pickle.root().kind));
  return pickle.root();
}

// "(2, 32, 32, 3)", as Python shows it.
std::string shown(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return fmt::format("({}{})", text, shape.size() == 1 ? "," : "");
}

std::vector<std::int64_t> shape_of(const Pickle& pickle, const PickleValue& value) {
  std::vector<std::int64_t> shape;
  for (const PickleValue& size : pickle.items(value)) {
    if (size.kind != PickleKind::integer || size.number < 0 || shape.size() == 8)
      throw_data_error(pickle.path(), "an array's shape is not made of sizes; get the file again");
    shape.push_back(size.number);
  }
  return shape;
}

// "|u1": the byte order and the code; numpy leaves the order out where it makes no difference.
std::string dtype_of(const Pickle& pickle, const PickleValue& value) {
  std::string code, order;
  const std::span<const PickleValue> parts = pickle.items(value);
  if (!parts.empty() && parts[0].kind == PickleKind::text) code = pickle.string_of(parts[0]);
  if (parts.size() > 1 && parts[1].kind == PickleKind::text) order = pickle.string_of(parts[1]);
  return order + code;
}

struct Array {
  std::vector<std::int64_t> shape;
  std::string dtype;
  std::span<const std::uint8_t> bytes;  // into the file, or into what array_of was given as room
};

Array array_of(const Pickle& pickle, std::string_view key, const PickleValue& value,
               std::vector<std::uint8_t>& room) {
  const std::span<const PickleValue> parts = pickle.items(value);
  if (value.kind != PickleKind::array || parts.empty())
    throw_data_error(pickle.path(), "'{}' is {}, not a numpy array with contents", key,
                     name_of(value.kind));
  if (parts[2].kind != PickleKind::text)
    throw_data_error(pickle.path(), "'{}' has {} as its contents, not bytes", key,
                     name_of(parts[2].kind));
  if (parts[3].number != 0)
    throw_data_error(pickle.path(),
                     "'{}' is stored in Fortran order (fortran_order), columns first; save it "
                     "again through numpy.ascontiguousarray",
                     key);
  return {shape_of(pickle, parts[0]), dtype_of(pickle, parts[1]), pickle.bytes_of(parts[2], room)};
}

// Labels are a list, or an array of whole numbers where another program wrote the file again.
std::vector<std::int64_t> labels_of(const Pickle& pickle, std::string_view key,
                                    const PickleValue& value) {
  std::vector<std::int64_t> labels;
  if (value.kind == PickleKind::list) {
    for (const PickleValue& label : pickle.items(value)) {
      if (label.kind != PickleKind::integer)
        throw_data_error(pickle.path(), "'{}' holds {}, not whole numbers", key,
                         name_of(label.kind));
      labels.push_back(label.number);
    }
    return labels;
  }
  std::vector<std::uint8_t> room;
  const Array array = array_of(pickle, key, value, room);
  const std::size_t width = array.dtype == "<i8" ? 8 : array.dtype == "<i4" ? 4 : 1;
  if (width == 1 && array.dtype != "|u1")
    throw_data_error(pickle.path(), "'{}' has dtype {}; int64, int32 or uint8 are read", key,
                     printable(array.dtype));
  for (std::size_t at = 0; at + width <= array.bytes.size(); at += width) {
    std::uint64_t label = 0;
    for (std::size_t i = 0; i < width; ++i) label |= std::uint64_t{array.bytes[at + i]} << (8 * i);
    labels.push_back(static_cast<std::int64_t>(label));
  }
  return labels;
}

const PickleValue& value_of(const Pickle& pickle, const Cifar& cifar, std::string_view key) {
  const PickleValue& dict = dictionary(pickle);
  if (const PickleValue* value = pickle.find(dict, key)) return *value;
  if (key == kLabels && pickle.find(dict, kFineLabels) != nullptr)
    throw_data_error(pickle.path(),
                     "has no 'labels' but fine_labels (looks like CIFAR-100); name its files as "
                     "CIFAR-100 does, or get CIFAR-10");
  if (key == kFineLabels && pickle.find(dict, kLabels) != nullptr)
    throw_data_error(pickle.path(),
                     "has no 'fine_labels' but labels (looks like CIFAR-10); name its files as "
                     "CIFAR-10 does, or get CIFAR-100");
  throw_data_error(pickle.path(), "its dictionary has no '{}': damaged, or not {}; get it again",
                   key, cifar.name);
}

std::span<const std::uint8_t> pixels_of(const Pickle& pickle, const Cifar& cifar,
                                        std::vector<std::uint8_t>& room) {
  const Array array = array_of(pickle, "data", value_of(pickle, cifar, "data"), room);
  if (array.dtype != "|u1" && array.dtype != "u1")
    throw_data_error(pickle.path(), "'data' has dtype {}; CIFAR has u1 (uint8), values 0 to 255",
                     printable(array.dtype));
  if (array.shape.size() != 2 || array.shape[1] != static_cast<std::int64_t>(kCifarPixels))
    throw_data_error(pickle.path(),
                     "'data' has the shape {}; CIFAR has (rows, {}): red, green, blue plane",
                     shown(array.shape), kCifarPixels);
  const auto rows = static_cast<std::size_t>(array.shape[0]);
  if (rows != array.bytes.size() / kCifarPixels || array.bytes.size() % kCifarPixels != 0)
    throw_data_error(pickle.path(),
                     "'data' has {} rows of {}, {} bytes, but holds {}; get the file again", rows,
                     kCifarPixels, std::uint64_t{rows} * kCifarPixels, array.bytes.size());
  if (rows == 0) throw_data_error(pickle.path(), "'data' has 0 rows: no images");
  return array.bytes;
}

// Appends them to `to` once each is known to be a class.
void append_labels(const Pickle& pickle, const Cifar& cifar, std::string_view key, int classes,
                   std::size_t rows, std::vector<std::uint8_t>& to) {
  const std::vector<std::int64_t> labels = labels_of(pickle, key, value_of(pickle, cifar, key));
  if (labels.size() != rows)
    throw_data_error(pickle.path(), "{} {} for {} rows of data; get the file again", labels.size(),
                     key, rows);
  for (std::size_t row = 0; row < rows; ++row) {
    if (labels[row] < 0 || labels[row] >= classes)
      throw_data_error(pickle.path(), "label {} in row {} of '{}' is not in 0 to {}", labels[row],
                       row, key, classes - 1);
    to.push_back(static_cast<std::uint8_t>(labels[row]));
  }
}

}  // namespace

void append_cifar_pickle(const Cifar& cifar, const std::filesystem::path& path,
                         std::span<const std::uint8_t> bytes, Dataset& dataset) {
  const Pickle pickle(path, bytes);
  const bool hundred = cifar.coarse_classes > 0;
  const std::string_view key = hundred ? kFineLabels : kLabels;
  value_of(pickle, cifar, key);  // the other CIFAR is named before anything else is complained of
  std::vector<std::uint8_t> room;
  const std::span<const std::uint8_t> pixels = pixels_of(pickle, cifar, room);
  const std::size_t rows = pixels.size() / kCifarPixels;
  append_labels(pickle, cifar, key, cifar.classes, rows, dataset.labels);
  if (hundred)
    append_labels(pickle, cifar, kCoarseLabels, cifar.coarse_classes, rows, dataset.coarse_labels);
  append_cifar_planes(pixels, kCifarPixels, rows, dataset);
}

std::vector<std::string> pickled_names(const std::filesystem::path& path,
                                       std::span<const std::uint8_t> bytes, std::string_view key) {
  const Pickle pickle(path, bytes);
  std::vector<std::string> names;
  if (const PickleValue* list = pickle.find(dictionary(pickle), key))
    for (const PickleValue& name : pickle.items(*list))
      if (name.kind == PickleKind::text) names.push_back(printable(pickle.string_of(name)));
  return names;
}

}  // namespace annulus
