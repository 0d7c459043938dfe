// The half of infiniband.h that needs libibverbs: infiniband_verbs.cpp where CMake finds the
// library, infiniband_unread.cpp, which lists nothing, elsewhere. Called by infiniband.cpp.
#pragma once

#include <string>
#include <vector>

#include "comm/infiniband.h"

namespace annulus {

std::vector<InfinibandDevice> listed_devices();

// A device that the kernel knows and that is not among the listed ones, with the likely reason.
InfinibandDevice unlisted_device(const std::string& name);

}  // namespace annulus
