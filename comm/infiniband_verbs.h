// The half of infiniband.h that needs libibverbs: infiniband_verbs.cpp where CMake finds the
// library, infiniband_unread.cpp, which lists nothing, elsewhere. Called by infiniband.cpp.
#pragma once

#include <vector>

#include "comm/infiniband.h"

namespace annulus {

std::vector<InfinibandDevice> listed_devices();

// Why a device that the kernel knows may be missing from listed_devices(), with what to do.
const char* why_unlisted();

}  // namespace annulus
