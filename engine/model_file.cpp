// See model_file.h.
#include "engine/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/data_error.h"
#include "data/file_writer.h"

namespace annulus {
namespace {

constexpr const char* kInputShape = "input_shape";

std::string text_of(const ImageShape& shape) {
  return fmt::format("[{},{},{}]", shape.channels, shape.height, shape.width);
}

constexpr const char* kBatchCount = ".num_batches_tracked";

// A tensor of the file and where its values stand in the flat buffers. There they are
// [rows][pixels] [channels], in the file [rows][channels][pixels].
struct Entry {
  std::string name;
  std::vector<std::int64_t> shape;  // in the file
  Slice slice;
  bool running = false;  // in Weights::running, else in Weights::parameters
  std::size_t pixels = 1, channels = 1;
};

// [rows][inner][outer] from [rows][outer][inner].
std::vector<float> transposed(std::span<const float> values, std::size_t outer, std::size_t inner) {
  std::vector<float> result(values.size());
  const std::size_t row = outer * inner;
  for (std::size_t begin = 0; begin < values.size(); begin += row)
    for (std::size_t o = 0; o < outer; ++o)
      for (std::size_t i = 0; i < inner; ++i)
        result[begin + i * outer + o] = values[begin + o * inner + i];
  return result;
}

ImageShape input_of(const Model& model, const Node& node) {
  return node.input == 0 ? model.input() : model.nodes()[node.input - 1].layer->out();
}

Entry entry_of(const Parameter& parameter, const ImageShape& input) {
  Entry entry{.name = parameter.name,
              .shape = {parameter.shape.begin(), parameter.shape.end()},
              .slice = {parameter.slice.offset, parameter.count()}};
  if (entry.shape.size() == 4) {
    const auto [k, r, s, c] =
        std::tie(entry.shape[0], entry.shape[1], entry.shape[2], entry.shape[3]);
    entry.pixels = static_cast<std::size_t>(r * s);
    entry.channels = static_cast<std::size_t>(c);
    entry.shape = {k, c, r, s};
  } else if (entry.shape.size() == 2) {
    entry.pixels = static_cast<std::size_t>(input.height) * input.width;
    entry.channels = static_cast<std::size_t>(input.channels);
  }
  return entry;
}

std::vector<Entry> entries_of(const Model& model) {
  std::vector<Entry> entries;
  std::size_t offset = 0;
  for (const Node& node : model.nodes()) {
    for (const Parameter* parameter : node.layer->parameters())
      entries.push_back(entry_of(*parameter, input_of(model, node)));
    const std::size_t channels = node.layer->statistics() / 2;
    if (channels == 0) continue;
    for (const char* kind : {".running_mean", ".running_var"}) {
      entries.push_back({.name = node.layer->name() + kind,
                         .shape = {static_cast<std::int64_t>(channels)},
                         .slice = {offset, channels},
                         .running = true});
      offset += channels;
    }
  }
  return entries;
}

// What PyTorch's BatchNorm counts; its load_state_dict asks for it, and only training without a
// momentum reads it.
std::vector<Tensor> batch_counts(const Model& model) {
  static constexpr std::array<std::uint8_t, sizeof(std::int64_t)> kZero{};
  std::vector<Tensor> counts;
  for (const Node& node : model.nodes())
    if (node.layer->statistics() > 0)
      counts.push_back({node.layer->name() + kBatchCount, "I64", {}, kZero});
  return counts;
}

TensorMetadata metadata_of(const Model& model, const Normalisation& normalisation) {
  const ImageShape& input = model.input();
  const auto list = [&](const std::array<float, 4>& values) {
    std::string text;
    for (int c = 0; c < input.channels; ++c)
      text += fmt::format("{}{:.9g}", c == 0 ? "[" : ",", values[c]);
    return text + "]";
  };
  return {{"format", "pt"},
          {"model", model.name()},
          {"classes", std::to_string(model.classes())},
          {kInputShape, text_of(input)},
          {"mean", list(normalisation.mean)},
          {"std", list(normalisation.std_dev)}};
}

}  // namespace

void save_model(const std::filesystem::path& path, const Model& model, const Weights& weights,
                const Normalisation& normalisation) {
  const std::vector<float> parameters = weights.parameters.download();
  const std::vector<float> running = weights.running.download();
  std::vector<std::vector<float>> values;  // what the tensors look into
  std::vector<Tensor> tensors = batch_counts(model);
  for (const Entry& entry : entries_of(model)) {
    const std::span<const float> source = entry.running ? running : parameters;
    values.push_back(transposed(source.subspan(entry.slice.offset, entry.slice.size), entry.pixels,
                                entry.channels));
    tensors.push_back(float_tensor(entry.name, entry.shape, values.back()));
  }
  write_file(path, tensor_file_bytes(metadata_of(model, normalisation), tensors));
}

ModelFile::ModelFile(std::filesystem::path path)
    : path_(std::move(path)), file_(read_tensor_file(path_)) {}

std::string ModelFile::model_name() const {
  const auto model = file_.metadata.find("model");
  if (model == file_.metadata.end())
    throw_data_error(path_, "does not say which model it holds; give it with --model");
  return model->second;
}

std::optional<Normalisation> ModelFile::normalisation() const {
  if (!file_.metadata.contains("mean")) return std::nullopt;
  const Normalisation normalisation{.mean = numbers("mean"), .std_dev = numbers("std")};
  return normalisation;
}

void ModelFile::expect_images(const ImageShape& images) const {
  const auto shape = file_.metadata.find(kInputShape);
  if (shape != file_.metadata.end() && shape->second != text_of(images))
    throw_data_error(path_,
                     "its model is for images of {} (channels, height, width), but the data has "
                     "{}; name its data with --data",
                     shape->second, text_of(images));
}

std::array<float, 4> ModelFile::numbers(const char* key) const {
  const auto text = file_.metadata.find(key);
  const auto list = nlohmann::json::parse(text == file_.metadata.end() ? "" : text->second, nullptr,
                                          /*allow_exceptions=*/false);
  const bool fits = list.is_array() && list.size() <= 4 &&
                    std::ranges::all_of(list, [](const auto& item) { return item.is_number(); });
  if (!fits)
    throw_data_error(path_,
                     "its metadata has no list of numbers '{}'; write both mean and std, or "
                     "neither",
                     key);
  std::array<float, 4> values{0, 0, 0, 1};
  std::copy(list.begin(), list.end(), values.begin());
  return values;
}

void ModelFile::load(const Model& model, Weights& weights) const {
  std::vector<float> parameters(weights.parameters.size(), 0.f), running(weights.running.size());
  std::vector<std::string> known;
  for (const Entry& entry : entries_of(model)) {
    const Tensor* tensor = file_.find(entry.name);
    if (tensor == nullptr)
      throw_data_error(path_, "has no tensor {}, which model {} needs; docs/pytorch.md lists all",
                       entry.name, model.name());
    const std::vector<float> values =
        transposed(float_values(path_, *tensor, entry.shape), entry.channels, entry.pixels);
    auto& target = entry.running ? running : parameters;
    std::ranges::copy(values, target.begin() + static_cast<std::ptrdiff_t>(entry.slice.offset));
    known.push_back(entry.name);
  }
  for (const Tensor& tensor : file_.tensors)
    if (!tensor.name.ends_with(kBatchCount) && std::ranges::find(known, tensor.name) == known.end())
      throw_data_error(path_,
                       "has a tensor {}, which model {} does not; is it another model's file?",
                       tensor.name, model.name());
  weights.parameters.upload(parameters);
  weights.running.upload(running);
}

}  // namespace annulus
