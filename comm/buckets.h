// The bucket plan: the flat gradient buffer, which the backward pass fills from front to back, cut
// into consecutive slices that are all-reduced one by one. Invariant: the slices cover the buffer
// without gap or overlap, so nothing is copied in or out. The first bucket is small, so that the
// first all-reduce starts early (Li et al. 2020, arXiv:2006.15704, section 3.2.3). Called by
// engine/trainer and engine/step.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace annulus {

struct Bucket {
  std::size_t begin = 0, end = 0;  // floats in the gradient buffer

  std::size_t size() const { return end - begin; }
  std::size_t bytes() const { return size() * sizeof(float); }
  bool operator==(const Bucket&) const = default;
};

// "64K,1M" -> bytes of the first, the second … bucket; the last size holds for all that follow.
// Units K, M, G are powers of 1024. Throws UserError (usage) for anything else.
std::vector<std::size_t> parse_bucket_sizes(const std::string& text);

// Cuts `floats` into buckets of those sizes, each a whole number of 256-byte lines; what is left at
// the end and is smaller than an eighth of a bucket joins the last one. The first bucket has at
// least `first` floats, whatever its size: what must be reduced together.
std::vector<Bucket> plan_buckets(std::size_t floats, const std::vector<std::size_t>& sizes,
                                 std::size_t first = 0);

// "3 buckets: 64 KiB, 1 MiB, 1.1 MiB".
std::string describe(const std::vector<Bucket>& buckets);

// "64 KiB", "1.1 MiB".
std::string format_bytes(std::size_t bytes);

}  // namespace annulus
