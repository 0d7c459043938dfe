// Writes a model down the way it is drawn: one call a layer, in the order of the forward pass.
// A ReLU or GELU straight after a BatchNorm, and a 2x2 max-pool after those, are fused into it:
// three passes over memory become one. Into cuDNN's BatchNorm nothing can be fused. Called by the
// functions of engine/model/models.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/layers/conv.h"
#include "engine/model/model.h"
#include "engine/replacements.h"
#include "kernels/activation.h"

namespace annulus {

class ModelBuilder {
 public:
  explicit ModelBuilder(ImageShape input, bool fuse = true, Replacements replacements = {})
      : input_(input), fuse_(fuse && !replacements.batchnorm), replacements_(replacements) {}

  ModelBuilder& conv(const ConvOptions& options, Init init = Init::kaiming_normal);
  ModelBuilder& batch_norm(float epsilon = 1e-5f);
  ModelBuilder& relu() { return activation(Activation::relu); }
  ModelBuilder& gelu() { return activation(Activation::gelu); }
  ModelBuilder& max_pool(int window = 2, int stride = 2, int padding = 0);
  ModelBuilder& global_average_pool();
  ModelBuilder& dropout(float rate);
  ModelBuilder& flatten();  // no copy: [H,W,C] in memory is already the row
  ModelBuilder& dense(int units, Init init = Init::glorot_uniform);

  // Residual blocks: remember a tensor, go back to it, add it.
  int here();
  ModelBuilder& from(int tensor);
  ModelBuilder& add(int tensor);

  Model build(std::string name);

 private:
  struct PendingBatchNorm {
    float epsilon;
    Activation activation = Activation::none;
    bool pool = false;
  };

  ModelBuilder& activation(Activation f);
  ModelBuilder& append(std::unique_ptr<Layer> layer, int other = -1);
  void flush();
  ImageShape shape() const;
  std::string next(const char* kind);

  ImageShape input_;
  bool fuse_;
  Replacements replacements_;
  std::vector<Node> nodes_;
  int current_ = 0;  // tensor that the next layer reads
  std::optional<ImageShape> flattened_;
  std::optional<PendingBatchNorm> pending_;
  std::vector<std::string> names_;  // kinds so far, for numbering
};

}  // namespace annulus
