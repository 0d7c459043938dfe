// resnet-8: the CIFAR ResNet of He et al. 2015 (arXiv:1512.03385) with one block a stage.
#include "engine/model/builder.h"
#include "engine/model/models.h"

namespace annulus {
namespace {

// [Conv3x3, BN, ReLU, Conv3x3, BN] + shortcut, ReLU. The shortcut is the input itself, or Conv1x1 +
// BN where shapes differ.
void block(ModelBuilder& m, int width, int stride) {
  const int input = m.here();
  m.conv({.filters = width, .kernel = 3, .stride = stride, .padding = 1, .bias = false});
  m.batch_norm().relu();
  m.conv({.filters = width, .kernel = 3, .padding = 1, .bias = false}).batch_norm();
  if (stride == 1) {
    m.add(input).relu();
    return;
  }
  const int main_path = m.here();
  m.from(input).conv({.filters = width, .kernel = 1, .stride = stride, .bias = false}).batch_norm();
  const int shortcut = m.here();
  m.from(main_path).add(shortcut).relu();
}

}  // namespace

Model resnet8(const ModelOptions& options) {
  ModelBuilder m(options.image, options.fuse, options.replacements);
  m.conv({.filters = 16, .kernel = 3, .padding = 1, .bias = false}).batch_norm().relu();
  block(m, 16, 1);
  block(m, 32, 2);
  block(m, 64, 2);
  m.global_average_pool().dense(options.classes);
  return m.build("resnet-8");
}

}  // namespace annulus
