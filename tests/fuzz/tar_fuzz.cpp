// Tar archives, plain or in gzip: every other member is read, the others are passed over.
#include "data/tar.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "data/gzip.h"
#include "tests/fuzz/input.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Mutations alone would never get past a header's checksum: it is made to fit again.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned) {
  size = LLVMFuzzerMutate(data, size, most);
  constexpr std::size_t checksum = 148, digits = 6, field = 8, magic = 257;
  for (std::size_t at = 0; at + annulus::kTarBlock <= size; at += annulus::kTarBlock) {
    std::uint8_t* header = data + at;
    if (std::memcmp(header + magic, "ustar", 5) != 0) continue;
    std::memset(header + checksum, ' ', field);
    unsigned sum = 0;
    for (std::size_t i = 0; i < annulus::kTarBlock; ++i) sum += header[i];
    for (std::size_t i = 0; i < digits; ++i)
      header[checksum + digits - 1 - i] = static_cast<std::uint8_t>('0' + (sum >> (3 * i) & 7));
    header[checksum + digits] = 0;
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  constexpr std::uint64_t most = std::uint64_t{1} << 20;
  const fuzz::Input input(data, size);
  fuzz::allow_data_errors([&] {
    MemorySource file(input);
    std::optional<GzipSource> unpacked;
    if (is_gzip(input)) unpacked.emplace(fuzz::kPath, file);
    TarReader tar(fuzz::kPath, unpacked ? static_cast<ByteSource&>(*unpacked) : file);
    for (bool read = true; const auto member = tar.next(); read = !read)
      if (read) fuzz::require(tar.contents(most).size() == member->size);
  });
  return 0;
}
