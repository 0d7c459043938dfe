// The entry files of this folder, one function each, called by entries(). Calls, not static
// objects: a linker drops an object of a static library that nobody refers to.
#pragma once

#include <vector>

#include "kernels/registry/registry.h"

namespace annulus::registry {

std::vector<Entry> activation_entries();

// In the order in which entries() lists them.
inline constexpr std::vector<Entry> (*kEntryFiles[])() = {
    activation_entries,
};

}  // namespace annulus::registry
