// First-fit over offsets. The free map never holds two neighbouring blocks, nor one that touches
// the end.
#include "engine/arena.h"

#include <algorithm>
#include <iterator>

namespace annulus {

namespace {

std::size_t whole(std::size_t bytes) {
  return align_up(std::max<std::size_t>(bytes, 1), kAlignBytes);
}

}  // namespace

Slice ActivationArena::allocate(std::size_t bytes) {
  const std::size_t needed = whole(bytes);
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    const auto [offset, available] = *block;
    if (available < needed) continue;
    free_.erase(block);
    if (available > needed) free_.emplace(offset + needed, available - needed);
    return {offset, bytes};
  }
  const std::size_t offset = end_;
  end_ += needed;
  peak_ = std::max(peak_, end_);
  return {offset, bytes};
}

void ActivationArena::release(const Slice& slice) {
  std::size_t offset = slice.offset;
  std::size_t size = whole(slice.size);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      size += previous->second;
      free_.erase(previous);
    }
  }
  if (offset + size == end_) {
    end_ = offset;
  } else {
    free_.emplace(offset, size);
  }
}

}  // namespace annulus
