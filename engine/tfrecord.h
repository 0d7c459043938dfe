// The framing of TensorFlow's record files: length, its checksum, the bytes, their checksum, all
// numbers little-endian. The checksum is CRC-32C, "masked" so that a CRC over bytes that hold CRCs
// keeps its strength. Called by engine/tensorboard.
// Source: tensorflow.org/tutorials/load_data/tfrecord; CRC-32C is RFC 3720, appendix B.4. No
// package of Debian 12 offers it for less than what it costs: 15 lines, on a kilobyte an epoch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace annulus {

std::uint32_t crc32c(std::string_view bytes);

std::string tfrecord(std::string_view payload);

// How many of the bytes of a record file are whole records: what a kill cut off lies behind them.
std::size_t whole_tfrecords(std::string_view file);

}  // namespace annulus
