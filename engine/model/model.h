// A model: layers in the order of the forward pass, each reading the tensor of an earlier one, and
// the layout of the flat buffers. Invariant: parameters lie in the order in which the backward pass
// finishes their gradients, so a bucket is a slice. Built by a ModelBuilder in one of the functions
// of engine/model/models.h; read by engine/plan, step, evaluate, model_file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/buckets.h"
#include "engine/layer.h"

namespace annulus {

// Tensor 0 is the batch of images; node i writes tensor i + 1.
struct Node {
  std::unique_ptr<Layer> layer;
  int input = 0;
  int other = -1;  // the second input of an Add, else -1
};

// The gradient buffer: a head that rides along with the first bucket, then the gradients.
// [0] sum of the losses, [1] hits, [2..5) what ranks ask of all (engine/step.h), padding to 64,
// [64..) BatchNorm's weighted batch statistics, padding, gradients.
struct GradientLayout {
  static constexpr std::size_t kLoss = 0, kHits = 1, kRequests = 2, kStatistics = kAlignFloats;
  std::size_t statistics = 0;  // floats
  std::size_t parameters = 0;  // floats, padding included

  std::size_t head() const { return kStatistics + align_up(statistics); }
  std::size_t size() const { return head() + parameters; }

  // The head is reduced with the first gradients, in one bucket.
  std::vector<Bucket> buckets(const std::vector<std::size_t>& sizes) const {
    return plan_buckets(size(), sizes, head() + kAlignFloats);
  }
};

class Model {
 public:
  Model(std::string name, ImageShape input, std::vector<Node> nodes);

  const std::string& name() const { return name_; }
  const ImageShape& input() const { return input_; }
  int classes() const { return nodes_.back().layer->out().channels; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Parameter*>& parameters() const { return parameters_; }  // forward order
  const GradientLayout& layout() const { return layout_; }
  std::size_t parameter_count() const;  // without padding

  // How many floats of the flat gradients are final once node i has run backward.
  std::size_t gradients_finished(std::size_t node) const;
  double forward_flops() const;   // per image, of convolutions and dense layers
  double training_flops() const;  // forward and both gradients; nobody needs the images' own

 private:
  std::string name_;
  ImageShape input_;
  std::vector<Node> nodes_;
  std::vector<Parameter*> parameters_;
  GradientLayout layout_;
};

// Initial values of the flat parameter buffer, from the seed alone. Kaiming: He et al. 2015
// (arXiv:1502.01852), normal, fan in, gain sqrt(2). Glorot: Glorot & Bengio 2010, uniform.
std::vector<float> initial_parameters(const Model& model, std::uint64_t seed);

// Initial running statistics: means 0, variances 1.
std::vector<float> initial_running_statistics(const Model& model);

}  // namespace annulus
