// What host code and the CPU device say to each other about kernels: the bytes a call touches, and
// work cut into pieces for the thread pool. Included by CPU forms of kernels (through simt.h), by
// the CPU device's library calls (through device.h), and by tests that compare the two forms of a
// kernel.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace annulus::simt {

// Bytes that a call reads, or reads and writes.
struct Access {
  const void* data;
  std::size_t bytes;
  bool write;
};

// Runs piece(context, i) for every i in [0, pieces); the caller takes part. Returns when all are
// done; the first exception is rethrown. The number of pieces must follow from shapes alone and
// each piece must write its own outputs: then bits do not depend on the number of threads.
void parallel(std::size_t pieces, void (*piece)(void* context, std::size_t i), void* context);

template <class Piece>
void parallel(std::size_t pieces, Piece&& piece) {
  using Function = std::remove_reference_t<Piece>;
  parallel(
      pieces, [](void* context, std::size_t i) { (*static_cast<Function*>(context))(i); },
      const_cast<void*>(static_cast<const void*>(std::addressof(piece))));
}

// Whether launches run CPU forms and elementwise pieces (the default, ANNULUS_CPU_FORMS) or emulate
// every kernel. Without the CPU device nothing happens.
void use_cpu_forms(bool use);

}  // namespace annulus::simt
