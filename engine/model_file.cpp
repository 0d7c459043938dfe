// See model_file.h.
#include "engine/model_file.h"

#include <algorithm>

#include "data/data_error.h"
#include "data/file_writer.h"
#include "engine/safetensors.h"

namespace annulus {
namespace {

// A tensor of the file and where its values stand in the flat buffers.
struct Entry {
  std::string name;
  std::vector<std::int64_t> shape;
  bool running;  // in Weights::running, else in Weights::parameters
  Slice slice;
};

std::vector<Entry> entries_of(const Model& model) {
  std::vector<Entry> entries;
  for (const Parameter* p : model.parameters())
    entries.push_back(
        {p->name, {p->shape.begin(), p->shape.end()}, false, {p->slice.offset, p->count()}});
  std::size_t offset = 0;
  for (const Node& node : model.nodes()) {
    const std::size_t channels = node.layer->statistics() / 2;
    if (!channels) continue;
    for (const char* kind : {"running_mean", "running_var"}) {
      entries.push_back({node.layer->name() + "." + kind,
                         {static_cast<std::int64_t>(channels)},
                         true,
                         {offset, channels}});
      offset += channels;
    }
  }
  return entries;
}

}  // namespace

void save_weights(const std::filesystem::path& path, const Model& model, const Weights& weights) {
  const std::vector<float> parameters = weights.parameters.download();
  const std::vector<float> running = weights.running.download();
  std::vector<Tensor> tensors;
  for (const Entry& entry : entries_of(model)) {
    const std::span<const float> source = entry.running ? running : parameters;
    tensors.push_back(float_tensor(entry.name, entry.shape,
                                   source.subspan(entry.slice.offset, entry.slice.size)));
  }
  write_file(path, tensor_file_bytes({{"format", "annulus"}, {"model", model.name()}}, tensors));
}

std::string saved_model_name(const std::filesystem::path& path) {
  const TensorFile file = read_tensor_file(path);
  const auto model = file.metadata.find("model");
  if (model == file.metadata.end())
    throw_data_error(path, "does not say which model it holds; give it with --model");
  return model->second;
}

void load_weights(const std::filesystem::path& path, const Model& model, Weights& weights) {
  const TensorFile file = read_tensor_file(path);
  std::vector<float> parameters(weights.parameters.size(), 0.f), running(weights.running.size());
  for (const Entry& entry : entries_of(model)) {
    const Tensor* tensor = file.find(entry.name);
    if (!tensor)
      throw_data_error(path, "has no tensor {}, which model {} needs; is it another model's file?",
                       entry.name, model.name());
    const std::vector<float> values = float_values(path, *tensor, entry.shape);
    auto& target = entry.running ? running : parameters;
    std::copy(values.begin(), values.end(),
              target.begin() + static_cast<std::ptrdiff_t>(entry.slice.offset));
  }
  weights.parameters.upload(parameters);
  weights.running.upload(running);
}

}  // namespace annulus
