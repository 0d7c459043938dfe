// What a build without libibverbs knows of InfiniBand; see infiniband_verbs.h.
#include "comm/infiniband_verbs.h"

namespace annulus {

std::vector<InfinibandDevice> listed_devices() { return {}; }

InfinibandDevice unlisted_device(const std::string& name) {
  return {.name = name,
          .problem = "this build was made without libibverbs and cannot read it",
          .fix = "install libibverbs-dev and build again"};
}

}  // namespace annulus
