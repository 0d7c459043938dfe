// The only file that sees the commit, so that a new commit recompiles this one alone.
#include "engine/build_info.h"

#include "build_commit.h"

namespace annulus {

const BuildInfo& build_info() {
  static constexpr BuildInfo kInfo{
      .version = ANNULUS_VERSION,
      .commit = ANNULUS_COMMIT,
      .dirty = ANNULUS_DIRTY,
      .compiler = ANNULUS_COMPILER,
      .flags = ANNULUS_COMPILE_FLAGS,
      .build_type = ANNULUS_BUILD_TYPE,
      .cuda = ANNULUS_CUDA_VERSION,
      .onednn = ANNULUS_ONEDNN_VERSION,
  };
  return kInfo;
}

}  // namespace annulus
