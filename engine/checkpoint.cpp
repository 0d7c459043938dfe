// See checkpoint.h.
#include "engine/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/checksum.h"
#include "data/data_error.h"
#include "data/file.h"

namespace annulus {
namespace {

constexpr const char* kState =
    "annulus-checkpoint-1";  // the key of the state; its format's version
constexpr const char* kDigest = "sha256";
constexpr std::size_t kDigestBytes = 64;  // in hex

// A tensor of the file and where its values stand in a flat buffer.
struct Entry {
  std::string name;
  std::vector<std::int64_t> shape;
  Slice slice;
};

std::vector<Entry> parameter_entries(const Model& model, const std::string& kind) {
  std::vector<Entry> entries;
  for (const Parameter* p : model.parameters())
    entries.push_back(
        {kind + "." + p->name, {p->shape.begin(), p->shape.end()}, {p->slice.offset, p->count()}});
  return entries;
}

// A layer's means, then its variances.
std::vector<Entry> running_entries(const Model& model) {
  std::vector<Entry> entries;
  std::size_t offset = 0;
  for (const Node& node : model.nodes()) {
    const std::size_t floats = node.layer->statistics();
    if (floats)
      entries.push_back({"running." + node.layer->name(),
                         {2, static_cast<std::int64_t>(floats / 2)},
                         {offset, floats}});
    offset += floats;
  }
  return entries;
}

std::string moment_name(std::size_t index) { return fmt::format("moment{}", index + 1); }

std::string digest_of(std::span<const std::uint8_t> bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.finish();
}

void add(std::vector<Tensor>& tensors, const std::vector<Entry>& entries,
         std::span<const float> values) {
  for (const Entry& entry : entries)
    tensors.push_back(float_tensor(entry.name, entry.shape,
                                   values.subspan(entry.slice.offset, entry.slice.size)));
}

std::vector<float> take(const CheckpointFile& file, const std::vector<Entry>& entries,
                        std::size_t size) {
  std::vector<float> flat(size, 0.f);
  for (const Entry& entry : entries) {
    const Tensor* tensor = file.tensors.find(entry.name);
    if (!tensor)
      throw_data_error(file.path,
                       "has no tensor {}, which this run needs; resume with the options "
                       "that the run was started with",
                       entry.name);
    const std::vector<float> values = float_values(file.path, *tensor, entry.shape);
    std::copy(values.begin(), values.end(),
              flat.begin() + static_cast<std::ptrdiff_t>(entry.slice.offset));
  }
  return flat;
}

}  // namespace

std::vector<std::uint8_t> checkpoint_bytes(const Model& model, const Snapshot& snapshot) {
  std::vector<Tensor> tensors;
  add(tensors, parameter_entries(model, "parameter"), snapshot.parameters);
  add(tensors, running_entries(model), snapshot.running);
  for (std::size_t i = 0; i < snapshot.moments.size(); ++i)
    add(tensors, parameter_entries(model, moment_name(i)), snapshot.moments[i]);
  const std::vector<std::uint8_t> blank(kDigestBytes);
  tensors.push_back({.name = kDigest, .type = "U8", .shape = {kDigestBytes}, .bytes = blank});
  std::vector<std::uint8_t> bytes = tensor_file_bytes({{kState, text_of(snapshot.state)}}, tensors);
  const std::string digest = digest_of(std::span(bytes).first(bytes.size() - kDigestBytes));
  std::copy(digest.begin(), digest.end(), bytes.end() - static_cast<std::ptrdiff_t>(kDigestBytes));
  return bytes;
}

CheckpointFile parse_checkpoint(const std::filesystem::path& path,
                                std::vector<std::uint8_t> bytes) {
  CheckpointFile checkpoint{.path = path, .state = {}, .tensors = {}};
  checkpoint.tensors = parse_tensor_file(path, std::move(bytes));
  const auto state = checkpoint.tensors.metadata.find(kState);
  if (state == checkpoint.tensors.metadata.end() || checkpoint.tensors.tensors.empty() ||
      checkpoint.tensors.tensors.back().name != kDigest)
    throw_data_error(path, "is no checkpoint of this version; weights alone are for annulus eval");
  const std::span<const std::uint8_t> stored = checkpoint.tensors.tensors.back().bytes;
  const std::span<const std::uint8_t> file = checkpoint.tensors.file;
  if (!std::ranges::equal(digest_of(file.first(file.size() - stored.size())), stored))
    throw_data_error(path, "is damaged: its SHA-256 does not agree; resume from another file");
  checkpoint.state = run_state_of(state->second, path.string());
  return checkpoint;
}

CheckpointFile read_checkpoint(const std::filesystem::path& path) {
  return parse_checkpoint(path, read_file(path));
}

Snapshot snapshot_of(const CheckpointFile& file, const Model& model, std::size_t moments) {
  const GradientLayout& layout = model.layout();
  Snapshot snapshot;
  snapshot.state = file.state;
  snapshot.parameters = take(file, parameter_entries(model, "parameter"), layout.parameters);
  snapshot.running = take(file, running_entries(model), layout.statistics);
  for (std::size_t i = 0; i < moments; ++i)
    snapshot.moments.push_back(
        take(file, parameter_entries(model, moment_name(i)), layout.parameters));
  return snapshot;
}

}  // namespace annulus
