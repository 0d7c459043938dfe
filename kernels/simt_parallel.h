// simt::parallel: work cut into pieces that the CPU device's thread pool runs. Included by CPU
// forms of kernels (through simt.h) and by the CPU device's library calls (through device.h).
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace annulus::simt {

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

}  // namespace annulus::simt
