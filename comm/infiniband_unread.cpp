// What a build without libibverbs knows of InfiniBand; see infiniband_verbs.h.
#include "comm/infiniband_verbs.h"

namespace annulus {

std::vector<InfinibandDevice> listed_devices() { return {}; }

const char* why_unlisted() {
  return "this build was made without libibverbs (Debian: libibverbs-dev) and cannot read it";
}

}  // namespace annulus
