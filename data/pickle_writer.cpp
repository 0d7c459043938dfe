// See pickle_writer.h; the opcodes' letters and names as CPython's Lib/pickletools.py has them. The
// memo, which a reader need not be given, is left out.
#include "data/pickle_writer.h"

#include <limits>
#include <stdexcept>

namespace annulus {

PickleWriter& PickleWriter::raw(std::string_view text) {
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  return *this;
}

PickleWriter& PickleWriter::raw(std::span<const std::uint8_t> values) {
  bytes_.insert(bytes_.end(), values.begin(), values.end());
  return *this;
}

PickleWriter& PickleWriter::little_endian(std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  return *this;
}

// PROTO 2, EMPTY_DICT, MARK
PickleWriter& PickleWriter::begin_dict() { return raw("\x80\x02}("); }

// SETITEMS, STOP
std::vector<std::uint8_t> PickleWriter::end_dict() {
  raw("u.");
  return std::move(bytes_);
}

// SHORT_BINSTRING
PickleWriter& PickleWriter::string(std::string_view text) {
  if (text.size() > 255) throw std::logic_error("PickleWriter::string: longer than 255 bytes");
  return raw("U").little_endian(static_cast<std::uint32_t>(text.size()), 1).raw(text);
}

// BININT1 or BININT
PickleWriter& PickleWriter::integer(std::int32_t value) {
  if (value >= 0 && value < 256)
    return raw("K").little_endian(static_cast<std::uint32_t>(value), 1);
  return raw("J").little_endian(static_cast<std::uint32_t>(value), 4);
}

// EMPTY_LIST, MARK, …, APPENDS
PickleWriter& PickleWriter::integers(std::span<const std::uint8_t> values) {
  raw("](");
  for (const std::uint8_t value : values) integer(value);
  return raw("e");
}

PickleWriter& PickleWriter::strings(const std::vector<std::string>& values) {
  raw("](");
  for (const std::string& value : values) string(value);
  return raw("e");
}

// numpy.core.multiarray._reconstruct(numpy.ndarray, (0,), 'b'), given the state
// (1, (rows, columns), dtype('u1', 0, 1), False, contents); the dtype's own state is
// (3, '|', None, None, None, -1, -1, 0).
PickleWriter& PickleWriter::uint8_array(std::int32_t rows, std::int32_t columns,
                                        std::span<const std::uint8_t> values) {
  if (values.size() > std::numeric_limits<std::int32_t>::max())
    throw std::logic_error("PickleWriter::uint8_array: BINSTRING holds at most 2 GiB");
  raw("cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n");
  integer(0).raw("\x85").string("b").raw("\x87R(");
  integer(1).integer(rows).integer(columns).raw(
      "\x86"
      "cnumpy\ndtype\n");
  string("u1").integer(0).integer(1).raw("\x87R(");
  integer(3).string("|").raw("NNN").integer(-1).integer(-1).integer(0).raw("tb\x89");
  return raw("T").little_endian(static_cast<std::uint32_t>(values.size()), 4).raw(values).raw("tb");
}

}  // namespace annulus
