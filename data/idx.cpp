// See idx.h. The header is believed only where the file's size agrees with it.
#include "data/idx.h"

#include <string_view>

#include "data/data_error.h"
#include "data/gzip.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

constexpr std::uint32_t kUnsignedByte = 0x0800;  // in the magic number, above the dimensions
constexpr std::uint64_t kLongestSide = 4096;

std::uint32_t big_endian(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

// The file itself, or what it unpacks to, kept in `room`.
std::span<const std::uint8_t> unpacked(const IdxFile& file, std::vector<std::uint8_t>& room) {
  if (!is_gzip(file.bytes)) return file.bytes;
  room = unpack_gzip(file.path, file.bytes);
  return room;
}

std::size_t header_size(std::uint32_t dimensions) { return 4 + 4 * std::size_t{dimensions}; }

void check_header(const IdxFile& file, std::span<const std::uint8_t> bytes,
                  std::uint32_t dimensions) {
  const char* what = dimensions == 3 ? "images" : "labels";
  if (bytes.empty()) throw_data_error(file.path, "is empty: no {}; get the file again", what);
  const std::uint32_t magic = bytes.size() < 4 ? 0 : big_endian(bytes, 0);
  const std::uint32_t wanted = kUnsignedByte | dimensions;
  if (bytes.size() >= 4 && magic != wanted) {
    const std::string_view beginning(reinterpret_cast<const char*>(bytes.data()),
                                     std::min<std::size_t>(bytes.size(), 12));
    throw_data_error(file.path,
                     "{} idx {}: it begins with '{}' (0x{:08x}, not 0x{:08x}); get the file again",
                     file.path.extension() == ".gz" ? "not gzip and not" : "not", what,
                     printable(beginning), magic, wanted);
  }
  if (bytes.size() < header_size(dimensions))
    throw_data_error(file.path, "its header is cut short: {} bytes of {}; get the file again",
                     bytes.size(), header_size(dimensions));
}

// The values after the header, whose sizes promise `count` items of `item` bytes.
std::span<const std::uint8_t> values(const IdxFile& file, std::span<const std::uint8_t> bytes,
                                     std::uint32_t dimensions, std::uint64_t count,
                                     std::uint64_t item) {
  const std::uint64_t header = header_size(dimensions), expected = header + count * item;
  const char* what = dimensions == 3 ? "images" : "labels";
  if (bytes.size() < expected)
    throw_data_error(file.path,
                     "the header says {} {}, the file holds {}: {} vs {} bytes, cut short; get the "
                     "file again",
                     count, what, (bytes.size() - header) / item, expected, bytes.size());
  if (bytes.size() > expected)
    throw_data_error(file.path,
                     "trailing data: {} bytes, but the header's {} {} need {}; get the file again",
                     bytes.size(), count, what, expected);
  if (count == 0) throw_data_error(file.path, "holds 0 {}: no images to train on", what);
  return bytes.subspan(header);
}

std::size_t append_images(const IdxFile& file, Dataset& dataset) {
  std::vector<std::uint8_t> room;
  const std::span<const std::uint8_t> bytes = unpacked(file, room);
  check_header(file, bytes, 3);
  const std::uint64_t count = big_endian(bytes, 4), height = big_endian(bytes, 8),
                      width = big_endian(bytes, 12);
  if (height == 0 || width == 0 || height > kLongestSide || width > kLongestSide)
    throw_data_error(file.path, "images of {}x{} pixels; sides of 1 to {} are read", height, width,
                     kLongestSide);
  const ImageShape shape{static_cast<int>(height), static_cast<int>(width), 1};
  ImageShape& known = dataset.image;
  if (known.size() != 0 && (known.height != shape.height || known.width != shape.width))
    throw_data_error(file.path, "images of {}x{} pixels, but the training images have {}x{}",
                     height, width, known.height, known.width);
  known = shape;
  const auto pixels = values(file, bytes, 3, count, height * width);
  dataset.images.insert(dataset.images.end(), pixels.begin(), pixels.end());
  return count;
}

}  // namespace

void append_idx(const IdxFile& images, const IdxFile& labels, Dataset& dataset) {
  const std::size_t image_count = append_images(images, dataset);
  std::vector<std::uint8_t> room;
  const std::span<const std::uint8_t> bytes = unpacked(labels, room);
  check_header(labels, bytes, 1);
  const auto read = values(labels, bytes, 1, big_endian(bytes, 4), 1);
  if (read.size() != image_count)
    throw_data_error(labels.path, "{} labels for the {} images in {}; get both files again",
                     read.size(), image_count, images.path.string());
  for (std::size_t i = 0; i < read.size(); ++i)
    if (read[i] >= dataset.classes)
      throw_data_error(labels.path,
                       "label {} of image {} is above {}: damaged, or a set of more "
                       "classes, which is not read",
                       read[i], i, dataset.classes - 1);
  dataset.labels.insert(dataset.labels.end(), read.begin(), read.end());
}

}  // namespace annulus
