// What moves the bytes of one communicator's collectives. One transport is made per rank and
// communicator; its calls come one after another, from stream threads.
#pragma once

#include <cstddef>

#include "comm/cpu/call.h"
#include "kernels/cpu/cudart/memory_share.h"

namespace annulus::cpu::nccl {

// One rank's side of a collective. For a broadcast, `input` counts on the root alone.
struct Collective {
  Call call;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  SharedRange input_range{};  // where input and output lie, for those who map them
  SharedRange output_range{};

  std::size_t element_bytes() const { return type_size(static_cast<ncclDataType_t>(call.type)); }
  std::size_t bytes() const { return call.count * element_bytes(); }
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const char* name() const = 0;  // "shared memory" or "tcp"

  // Returns when this rank's part is done, or early when the communicator has failed.
  virtual void run(const Collective& collective) = 0;

  // The regular end: no more collectives of this rank.
  virtual void leave() {}
};

}  // namespace annulus::cpu::nccl
