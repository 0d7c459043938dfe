// See tfrecord.h.
#include "engine/tfrecord.h"

#include <array>

namespace annulus {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // the polynomial, lowest bit first
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kCastagnoli : 0);
    table[byte] = crc;
  }
  return table;
}

template <class Integer>
std::string little_endian(Integer value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::uint64_t from_little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = (value << 8) | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

std::string masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes)
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::string tfrecord(std::string_view payload) {
  const std::string length = little_endian(std::uint64_t{payload.size()});
  std::string record = length + masked_crc(length);
  record += payload;
  return record + masked_crc(payload);
}

std::size_t whole_tfrecords(std::string_view file) {
  constexpr std::size_t kLength = sizeof(std::uint64_t), kCrc = sizeof(std::uint32_t);
  std::size_t whole = 0;
  while (file.size() - whole >= kLength + 2 * kCrc) {
    const std::string_view rest = file.substr(whole);
    const std::uint64_t length = from_little_endian(rest.substr(0, kLength));
    if (length > rest.size() - kLength - 2 * kCrc) break;
    const std::string record = tfrecord(rest.substr(kLength + kCrc, length));
    if (!rest.starts_with(record)) break;
    whole += record.size();
  }
  return whole;
}

}  // namespace annulus
