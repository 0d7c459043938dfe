// Lays out the flat buffers and fills the first values.
#include "engine/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "kernels/check.h"
#include "kernels/philox.h"

namespace annulus {
namespace {

// Two independent standard normal numbers of one Philox block (Box & Muller 1958).
std::pair<double, double> normals(const Uint4& bits) {
  const double u = (double(bits.x) + 1.0) * 0x1p-32;  // (0,1]
  const double angle = 2.0 * std::numbers::pi * double(bits.y) * 0x1p-32;
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

void fill(const Parameter& p, std::uint32_t index, std::uint64_t seed, float* values) {
  const auto draw = [&](std::size_t block) {
    return philox(seed, std::uint32_t(Purpose::init), 0, index, std::uint32_t(block));
  };
  const double kaiming = std::sqrt(2.0 / p.fan_in);
  const double glorot = std::sqrt(6.0 / (p.fan_in + p.fan_out));
  for (std::size_t i = 0; i < p.count(); ++i) {
    switch (p.init) {
      case Init::zeros:
        values[i] = 0.f;
        break;
      case Init::ones:
        values[i] = 1.f;
        break;
      case Init::kaiming_normal: {
        const auto [even, odd] = normals(draw(i / 2));
        values[i] = static_cast<float>(kaiming * (i % 2 ? odd : even));
        break;
      }
      case Init::glorot_uniform: {
        const Uint4 bits = draw(i / 4);
        const std::uint32_t lanes[] = {bits.x, bits.y, bits.z, bits.w};
        values[i] = static_cast<float>(glorot * (2.0 * uniform(lanes[i % 4]) - 1.0));
        break;
      }
    }
  }
}

}  // namespace

Model::Model(std::string name, ImageShape input, std::vector<Node> nodes)
    : name_(std::move(name)), input_(input), nodes_(std::move(nodes)) {
  for (const Node& node : nodes_) {
    Layer& layer = *node.layer;
    const ImageShape& out = layer.out();
    if (out.height < 1 || out.width < 1)
      throw UserError(ExitCode::usage,
                      fmt::format("model {}: images of {}x{}x{} are too small, layer {} leaves "
                                  "nothing of them; use larger ones",
                                  name_, input.height, input.width, input.channels, layer.name()));
    layer.set_statistics({layout_.statistics, layer.statistics()});
    layout_.statistics += layer.statistics();
    for (Parameter* p : layer.parameters()) parameters_.push_back(p);
  }
  for (int tensor = 1; tensor < static_cast<int>(nodes_.size()); ++tensor)
    if (std::none_of(nodes_.begin() + tensor, nodes_.end(), [&](const Node& node) {
          return node.input == tensor || node.other == tensor;
        }))
      throw std::logic_error(fmt::format("model {}: nothing reads the output of layer {}", name_,
                                         nodes_[tensor - 1].layer->name()));
  ParameterArena arena;
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node)
    for (Parameter* p : node->layer->parameters()) p->slice = arena.add(p->count());
  layout_.parameters = arena.size();
}

std::size_t Model::gradients_finished(std::size_t node) const {
  std::size_t end = 0;
  for (std::size_t i = node; i < nodes_.size(); ++i)
    for (const Parameter* p : nodes_[i].layer->parameters())
      end = std::max(end, p->slice.offset + align_up(p->slice.size));
  return end;
}

std::size_t Model::parameter_count() const {
  std::size_t count = 0;
  for (const Parameter* p : parameters_) count += p->count();
  return count;
}

double Model::forward_flops() const {
  double flops = 0;
  for (const Node& node : nodes_) flops += node.layer->forward_flops();
  return flops;
}

double Model::training_flops() const {
  return 3 * forward_flops() - nodes_.front().layer->forward_flops();
}

std::vector<float> initial_parameters(const Model& model, std::uint64_t seed) {
  std::vector<float> values(model.layout().parameters, 0.f);
  std::uint32_t index = 0;
  for (const Parameter* p : model.parameters())
    fill(*p, index++, seed, values.data() + p->slice.offset);
  return values;
}

std::vector<float> initial_running_statistics(const Model& model) {
  std::vector<float> running;
  for (const Node& node : model.nodes()) {
    const std::size_t channels = node.layer->statistics() / 2;
    running.insert(running.end(), channels, 0.f);
    running.insert(running.end(), channels, 1.f);
  }
  return running;
}

}  // namespace annulus
