// See safetensors.h.
#include "engine/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "data/data_error.h"
#include "data/file.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

using Json = nlohmann::ordered_json;

constexpr std::size_t kLengthBytes = 8;  // the header's length, at the file's begin
constexpr std::size_t kMostHeader = std::size_t{1} << 20;
constexpr int kDeepest = 3;  // header, tensor, its shape
constexpr std::string_view kRestore = "it is damaged or another kind of file; restore it";

struct TypeSize {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<TypeSize, 12> kTypes{{{"BOOL", 1},
                                           {"U8", 1},
                                           {"I8", 1},
                                           {"U16", 2},
                                           {"I16", 2},
                                           {"F16", 2},
                                           {"BF16", 2},
                                           {"U32", 4},
                                           {"I32", 4},
                                           {"F32", 4},
                                           {"I64", 8},
                                           {"F64", 8}}};

std::optional<std::uint64_t> size_of_type(std::string_view name) {
  for (const TypeSize& type : kTypes)
    if (type.name == name) return type.bytes;
  return std::nullopt;
}

std::string text_of(const std::vector<std::int64_t>& shape) { return Json(shape).dump(); }

// Nothing where the product does not fit: no tensor of a file is that large.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, std::uint64_t type) {
  std::uint64_t bytes = type;
  for (const std::int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      return std::nullopt;
  return bytes;
}

// A header that nests deeper than the format's would unfold to many times the file's size; and all
// of its numbers are whole ones, so that none is too large for what it is converted to.
Json parse_header(const std::filesystem::path& path, std::string_view text) {
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth >= kDeepest &&
        (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start))
      throw_data_error(path, "its header nests too deep for safetensors; {}", kRestore);
    if (event == Json::parse_event_t::value && value.is_number_float())
      throw_data_error(path, "its header says {}, which is no size; {}", printable(value.dump()),
                       kRestore);
    return true;
  };
  Json header = Json::parse(text, check, false);
  if (!header.is_object())
    throw_data_error(path, "is not a safetensors file (its header is not JSON); {}", kRestore);
  return header;
}

std::size_t header_size(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < kLengthBytes)
    throw_data_error(path, "{} bytes are too short for a safetensors file; {}", bytes.size(),
                     kRestore);
  std::memcpy(&size, bytes.data(), kLengthBytes);
  if (size > bytes.size() - kLengthBytes)
    throw_data_error(path, "says that its header has {} bytes, but the file has {}; {}", size,
                     bytes.size(), kRestore);
  if (size > kMostHeader)
    throw_data_error(path, "its header of {} bytes is larger than the {} that are read", size,
                     kMostHeader);
  return size;
}

TensorMetadata metadata_of(const std::filesystem::path& path, const Json& object) {
  TensorMetadata metadata;
  if (!object.is_object()) throw_data_error(path, "its __metadata__ is no object; {}", kRestore);
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string())
      throw_data_error(path, "its __metadata__ holds {}, which is no text; {}", printable(key),
                       kRestore);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

Tensor tensor_of(const std::filesystem::path& path, const std::string& name, const Json& entry,
                 std::span<const std::uint8_t> values) {
  Tensor tensor{.name = name, .type = {}, .shape = {}, .bytes = {}};
  std::array<std::uint64_t, 2> range{};
  try {
    entry.at("dtype").get_to(tensor.type);
    entry.at("shape").get_to(tensor.shape);
    entry.at("data_offsets").get_to(range);
  } catch (const nlohmann::json::exception&) {
    throw_data_error(path, "tensor {} has a damaged header; {}", printable(name), kRestore);
  }
  const auto [begin, end] = range;
  if (begin > end || end > values.size())
    throw_data_error(path, "tensor {} lies at bytes {} to {} of {}; {}", printable(name), begin,
                     end, values.size(), kRestore);
  const std::optional<std::uint64_t> type = size_of_type(tensor.type);
  if (!type)
    throw_data_error(path, "tensor {} has the unknown type {}", printable(name),
                     printable(tensor.type));
  if (bytes_of(tensor.shape, *type) != end - begin)
    throw_data_error(path, "tensor {} is {} {}, but has {} bytes; {}", printable(name), tensor.type,
                     printable(text_of(tensor.shape)), end - begin, kRestore);
  tensor.bytes = values.subspan(begin, end - begin);
  return tensor;
}

// The format allows neither holes nor overlaps.
void check_covered(const std::filesystem::path& path, const TensorFile& file,
                   std::span<const std::uint8_t> values) {
  const std::uint8_t* next = values.data();
  for (const Tensor& tensor : file.tensors) {
    if (tensor.bytes.data() != next)
      throw_data_error(path, "tensor {} overlaps another or leaves a hole; {}",
                       printable(tensor.name), kRestore);
    next += tensor.bytes.size();
  }
  if (next != values.data() + values.size())
    throw_data_error(path, "has {} bytes after its last tensor; {}",
                     values.data() + values.size() - next, kRestore);
}

}  // namespace

const Tensor* TensorFile::find(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const Tensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

TensorFile parse_tensor_file(const std::filesystem::path& path, std::vector<std::uint8_t> bytes) {
  TensorFile file;
  file.file = std::move(bytes);
  const std::size_t size = header_size(path, file.file);
  const std::span<const std::uint8_t> values = std::span(file.file).subspan(kLengthBytes + size);
  const Json header =
      parse_header(path, {reinterpret_cast<const char*>(file.file.data()) + kLengthBytes, size});
  for (const auto& [name, entry] : header.items())
    if (name == "__metadata__")
      file.metadata = metadata_of(path, entry);
    else
      file.tensors.push_back(tensor_of(path, name, entry, values));
  std::stable_sort(file.tensors.begin(), file.tensors.end(), [](const Tensor& a, const Tensor& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  check_covered(path, file, values);
  return file;
}

TensorFile read_tensor_file(const std::filesystem::path& path) {
  return parse_tensor_file(path, read_file(path));
}

std::vector<std::uint8_t> tensor_file_bytes(const TensorMetadata& metadata,
                                            const std::vector<Tensor>& tensors) {
  Json header;
  header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const Tensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.type},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the format aligns the values to 8 bytes
  const std::uint64_t size = text.size();

  std::vector<std::uint8_t> bytes(kLengthBytes);
  bytes.reserve(kLengthBytes + size + offset);
  std::memcpy(bytes.data(), &size, kLengthBytes);
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (const Tensor& tensor : tensors)
    bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  return bytes;
}

Tensor float_tensor(std::string name, std::vector<std::int64_t> shape,
                    std::span<const float> values) {
  return {.name = std::move(name),
          .type = "F32",
          .shape = std::move(shape),
          .bytes = {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()}};
}

std::vector<float> float_values(const std::filesystem::path& path, const Tensor& tensor,
                                const std::vector<std::int64_t>& shape) {
  if (tensor.type != "F32" || tensor.shape != shape)
    throw_data_error(path, "tensor {} is {} {}, the model needs F32 {}", printable(tensor.name),
                     tensor.type, printable(text_of(tensor.shape)), text_of(shape));
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

}  // namespace annulus
