// seed-cnn: the network of the reference experiment. 551,722 parameters, 77.8 MFLOP forward an
// image.
#include "engine/model/builder.h"
#include "engine/model/models.h"

namespace annulus {

Model seed_cnn(const ModelOptions& options) {
  ModelBuilder m(options.image, options.fuse, options.replacements);
  for (int width : {32, 64, 128}) {
    m.conv({.filters = width, .kernel = 3, .padding = 1}).batch_norm().relu();
    m.conv({.filters = width, .kernel = 3, .padding = 1}).batch_norm().relu();
    m.max_pool().dropout(0.2f * options.dropout_scale);
  }
  m.flatten();
  m.dense(128).batch_norm().relu().dropout(0.5f * options.dropout_scale);
  m.dense(options.classes);
  return m.build("seed-cnn");
}

}  // namespace annulus
