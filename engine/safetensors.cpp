// Writes to a temporary file beside the target and renames it; reads with every length checked
// against the file.
#include "engine/safetensors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace annulus {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// A tensor of the file and where its values stand in the flat buffers.
struct Entry {
  std::string name;
  std::vector<int> shape;
  bool running;  // in Weights::running, else in Weights::parameters
  Slice slice;
};

std::vector<Entry> entries_of(const Model& model) {
  std::vector<Entry> entries;
  for (const Parameter* p : model.parameters())
    entries.push_back({p->name, p->shape, false, {p->slice.offset, p->count()}});
  std::size_t offset = 0;
  for (const Node& node : model.nodes()) {
    const std::size_t channels = node.layer->statistics() / 2;
    if (!channels) continue;
    for (const char* kind : {"running_mean", "running_var"}) {
      entries.push_back({node.layer->name() + "." + kind,
                         {static_cast<int>(channels)},
                         true,
                         {offset, channels}});
      offset += channels;
    }
  }
  return entries;
}

UserError unusable(const std::filesystem::path& path, const std::string& fact) {
  return UserError(ExitCode::data, fmt::format("{}: {}", path.string(), fact));
}

UserError not_written(const std::filesystem::path& path) {
  return UserError(ExitCode::storage,
                   fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
}

struct File {
  nlohmann::json header;
  std::vector<char> bytes;  // after the header
};

File read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw unusable(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::uint64_t header_size = 0;
  if (error || size < sizeof header_size ||
      !stream.read(reinterpret_cast<char*>(&header_size), sizeof header_size) ||
      header_size > size - sizeof header_size)
    throw unusable(path, "is not a safetensors file (its header length exceeds the file)");
  std::string text(header_size, '\0');
  File file;
  file.bytes.resize(size - sizeof header_size - header_size);
  if (!stream.read(text.data(), static_cast<std::streamsize>(text.size())) ||
      !stream.read(file.bytes.data(), static_cast<std::streamsize>(file.bytes.size())))
    throw unusable(path, "ended early while it was read");
  file.header = nlohmann::json::parse(text, nullptr, false);
  if (!file.header.is_object())
    throw unusable(path, "is not a safetensors file (header is not JSON)");
  return file;
}

// The values of one tensor, or an error that names it.
std::vector<float> values_of(const std::filesystem::path& path, const File& file,
                             const Entry& entry) {
  const auto found = file.header.find(entry.name);
  if (found == file.header.end()) throw unusable(path, fmt::format("has no tensor {}", entry.name));
  try {
    const auto shape = found->at("shape").get<std::vector<int>>();
    const auto type = found->at("dtype").get<std::string>();
    if (shape != entry.shape || type != "F32")
      throw unusable(path,
                     fmt::format("tensor {} is {} {}, the model needs F32 {}", entry.name, type,
                                 found->at("shape").dump(), nlohmann::json(entry.shape).dump()));
    const auto range = found->at("data_offsets").get<std::vector<std::uint64_t>>();
    const std::size_t bytes = entry.slice.size * sizeof(float);
    if (range.size() != 2 || range[0] > range[1] || range[1] > file.bytes.size() ||
        range[1] - range[0] != bytes)
      throw unusable(path, fmt::format("tensor {} does not lie within the file", entry.name));
    std::vector<float> values(entry.slice.size);
    std::memcpy(values.data(), file.bytes.data() + range[0], bytes);
    return values;
  } catch (const nlohmann::json::exception&) {
    throw unusable(path, fmt::format("tensor {} has a damaged header", entry.name));
  }
}

}  // namespace

void save_weights(const std::filesystem::path& path, const Model& model, const Weights& weights) {
  const std::vector<float> parameters = weights.parameters.download();
  const std::vector<float> running = weights.running.download();
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "annulus"}, {"model", model.name()}};
  std::vector<float> values;
  for (const Entry& entry : entries_of(model)) {
    const auto& source = entry.running ? running : parameters;
    const auto begin = source.begin() + static_cast<std::ptrdiff_t>(entry.slice.offset);
    const std::size_t offset = values.size() * sizeof(float);
    values.insert(values.end(), begin, begin + static_cast<std::ptrdiff_t>(entry.slice.size));
    header[entry.name] = {{"dtype", "F32"},
                          {"shape", entry.shape},
                          {"data_offsets", {offset, values.size() * sizeof(float)}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the format aligns the values to 8 bytes
  const std::uint64_t header_size = text.size();

  const std::filesystem::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
  if (!stream) throw not_written(temporary);
  stream.write(reinterpret_cast<const char*>(&header_size), sizeof header_size);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(temporary, path, error);
  if (!stream || error) {
    if (error) errno = error.value();
    const UserError failure = not_written(path);
    std::filesystem::remove(temporary, error);
    throw failure;
  }
}

std::string saved_model_name(const std::filesystem::path& path) {
  const File file = read(path);
  const auto metadata = file.header.find("__metadata__");
  if (metadata == file.header.end() || !metadata->is_object() || !metadata->contains("model") ||
      !metadata->at("model").is_string())
    throw unusable(path, "does not say which model it holds; give it with --model");
  return metadata->at("model").get<std::string>();
}

void load_weights(const std::filesystem::path& path, const Model& model, Weights& weights) {
  const File file = read(path);
  std::vector<float> parameters(weights.parameters.size(), 0.f), running(weights.running.size());
  for (const Entry& entry : entries_of(model)) {
    const std::vector<float> values = values_of(path, file, entry);
    auto& target = entry.running ? running : parameters;
    std::copy(values.begin(), values.end(),
              target.begin() + static_cast<std::ptrdiff_t>(entry.slice.offset));
  }
  weights.parameters.upload(parameters);
  weights.running.upload(running);
}

}  // namespace annulus
