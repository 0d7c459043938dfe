// mnist-cnn: a small network for 28x28 digits; 422,090 parameters. Nothing in it asks for one
// channel or that size.
#include "engine/model/builder.h"
#include "engine/model/models.h"

namespace annulus {

Model mnist_cnn(const ModelOptions& options) {
  ModelBuilder m(options.image, options.fuse, options.replacements);
  for (int width : {32, 64}) {
    m.conv({.filters = width, .kernel = 3, .padding = 1}).batch_norm().relu();
    m.max_pool();
  }
  m.flatten();
  m.dense(128).batch_norm().relu().dropout(0.5f * options.dropout_scale);
  m.dense(options.classes);
  return m.build("mnist-cnn");
}

}  // namespace annulus
