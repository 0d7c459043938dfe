// mlp: two hidden layers of 256; the smallest model that shows every part of a step, and the
// fastest to test with.
#include "engine/model/builder.h"
#include "engine/model/models.h"

namespace annulus {

Model mlp(const ModelOptions& options) {
  ModelBuilder m(options.image, options.fuse, options.replacements);
  m.flatten();
  for (int layer = 0; layer < 2; ++layer) m.dense(256, Init::kaiming_normal).relu();
  m.dropout(0.2f * options.dropout_scale).dense(options.classes);
  return m.build("mlp");
}

}  // namespace annulus
