// Arithmetic alone; see buckets.h.
#include "comm/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "kernels/check.h"

namespace annulus {
namespace {

constexpr std::size_t kMostSizes = 64;
constexpr std::size_t kLine = 64;  // floats: the 256 bytes on which every parameter begins

[[noreturn]] void refuse(const std::string& text, const char* why) {
  throw UserError(ExitCode::usage,
                  fmt::format("--bucket-size {}: {}; give sizes like 64K,1M: of the first bucket, "
                              "then of those that follow",
                              text, why));
}

std::size_t unit_of(const std::string& text, std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix == "K" || suffix == "k") return std::size_t{1} << 10;
  if (suffix == "M") return std::size_t{1} << 20;
  if (suffix == "G") return std::size_t{1} << 30;
  refuse(text, "there is no such unit");
}

std::size_t parse_size(const std::string& text, std::string_view one) {
  double number = 0;
  const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), number);
  if (error != std::errc() || !(number > 0)) refuse(text, "not a size above 0");
  const double bytes = number * double(unit_of(text, one.substr(end - one.data())));
  if (bytes > 1e15) refuse(text, "larger than any memory");
  return std::max<std::size_t>(1, static_cast<std::size_t>(bytes));
}

std::size_t whole_lines(std::size_t bytes) {
  return (bytes / sizeof(float) + kLine - 1) / kLine * kLine;
}

}  // namespace

std::vector<std::size_t> parse_bucket_sizes(const std::string& text) {
  std::vector<std::size_t> sizes;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    sizes.push_back(parse_size(text, rest.substr(0, comma)));
    if (sizes.size() > kMostSizes) refuse(text.substr(0, 20) + "…", "more than 64 sizes");
    if (comma == rest.npos) return sizes;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<Bucket> plan_buckets(std::size_t floats, const std::vector<std::size_t>& sizes,
                                 std::size_t first) {
  std::vector<Bucket> buckets;
  for (std::size_t begin = 0; begin < floats;) {
    const std::size_t wanted =
        std::max({kLine, whole_lines(sizes[std::min(buckets.size(), sizes.size() - 1)]),
                  buckets.empty() ? first : 0});
    const std::size_t left = floats - begin;
    if (!buckets.empty() && 8 * left < wanted) {
      buckets.back().end = floats;
      break;
    }
    buckets.push_back({begin, begin + std::min(wanted, left)});
    begin = buckets.back().end;
  }
  return buckets;
}

std::string format_bytes(std::size_t bytes) {
  const double size = double(bytes);
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.4g} KiB", size / 1024);
  return fmt::format("{:.3g} MiB", size / (1024 * 1024));
}

std::string describe(const std::vector<Bucket>& buckets) {
  std::string text = fmt::format("{} bucket{}:", buckets.size(), buckets.size() == 1 ? "" : "s");
  constexpr std::size_t kShown = 8;
  for (std::size_t b = 0; b < std::min(buckets.size(), kShown); ++b)
    text += fmt::format("{} {}", b ? "," : "", format_bytes(buckets[b].bytes()));
  if (buckets.size() > kShown) text += fmt::format(", … {}", format_bytes(buckets.back().bytes()));
  return text;
}

}  // namespace annulus
