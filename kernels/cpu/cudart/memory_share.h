// Where device memory lies in its device's memfd, so that another process can map the same bytes.
#pragma once

#include <cstddef>
#include <optional>

namespace annulus::cpu {

struct SharedRange {
  int file;            // the descriptor stays the runtime's
  std::size_t offset;  // of the pointer, in the file
  std::size_t bytes;   // from the pointer to the end of its allocation
};

// Nothing for a pointer that is not living device memory, nor where a limit on the size of files
// (ulimit -f) keeps memory from being shared.
std::optional<SharedRange> shared_range(const void* data);

}  // namespace annulus::cpu
