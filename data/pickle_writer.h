// Writes what CIFAR's Python version holds as a pickle of protocol 2 with Python 2's byte strings,
// as the original files are: Python 3 reads it with pickle.load(file, encoding="bytes") or
// "latin1", and numpy makes the array. Called by convert.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace annulus {

// Call begin_dict, then key and value in turn, then end_dict.
class PickleWriter {
 public:
  PickleWriter& begin_dict();
  PickleWriter& string(std::string_view text);
  PickleWriter& integer(std::int32_t value);
  PickleWriter& integers(std::span<const std::uint8_t> values);
  PickleWriter& strings(const std::vector<std::string>& values);
  PickleWriter& uint8_array(std::int32_t rows, std::int32_t columns,
                            std::span<const std::uint8_t> values);  // [rows, columns]
  std::vector<std::uint8_t> end_dict();

 private:
  PickleWriter& raw(std::string_view text);
  PickleWriter& raw(std::span<const std::uint8_t> values);
  PickleWriter& little_endian(std::uint32_t value, int bytes);

  std::vector<std::uint8_t> bytes_;
};

}  // namespace annulus
