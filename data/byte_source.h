// Bytes that are read once, from front to back: memory, a file, or what a gzip stream unpacks to.
// An archive of any size is so read through a small buffer. Called by the tar and gzip readers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace annulus {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills a front part of `to`, which is not empty, and says how long it is; 0 at the end alone.
  // Throws UserError(data).
  virtual std::size_t read(std::span<std::uint8_t> to) = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  std::size_t read(std::span<std::uint8_t> to) override {
    const std::size_t count = std::min(to.size(), left_.size());
    std::copy_n(left_.begin(), count, to.begin());
    left_ = left_.subspan(count);
    return count;
  }

 private:
  std::span<const std::uint8_t> left_;
};

// Fills all of `to`, or what there is until the end; says how much that was.
inline std::size_t read_fully(ByteSource& source, std::span<std::uint8_t> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const std::size_t got = source.read(to.subspan(done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace annulus
