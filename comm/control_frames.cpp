// Encoding and cutting of frames; see comm/control_frames.h.
#include "comm/control_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace annulus::control {
namespace {

void append_little_endian(std::string& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void require_magic(std::string_view bytes) {
  const std::size_t known = std::min(bytes.size(), magic.size());
  if (bytes.substr(0, known) != magic.substr(0, known))
    throw BadFrame(BadFrame::Kind::stranger, "what it sends is not Annulus's control protocol");
}

[[noreturn]] void throw_malformed() {
  throw BadFrame(BadFrame::Kind::malformed, "a frame's fields do not fit its length");
}

}  // namespace

std::string encode(const Frame& frame) {
  std::string bytes(magic);
  append_little_endian(bytes, protocol_version, 2);
  append_little_endian(bytes, static_cast<std::uint64_t>(frame.type), 2);
  append_little_endian(bytes, frame.payload.size(), 4);
  return bytes + frame.payload;
}

std::size_t FrameBuffer::room() const {
  const std::size_t longest = header_bytes + limit_, held = bytes_.size() - taken_;
  return longest - std::min(longest, held);
}

void FrameBuffer::append(std::string_view bytes) {
  bytes_.erase(0, std::exchange(taken_, 0));
  bytes_.append(bytes);
}

std::optional<Frame> FrameBuffer::next() {
  const std::string_view bytes = std::string_view(bytes_).substr(taken_);
  require_magic(bytes);
  if (bytes.size() < header_bytes) return std::nullopt;
  const std::uint64_t version = little_endian(bytes.substr(4, 2));
  const auto type = static_cast<FrameType>(little_endian(bytes.substr(6, 2)));
  const std::size_t length = little_endian(bytes.substr(8, 4));
  if (version != protocol_version && type != FrameType::refusal)
    throw BadFrame(
        BadFrame::Kind::version,
        fmt::format("it speaks version {} of the control protocol, this build version {}", version,
                    protocol_version));
  if (length > limit_)
    throw BadFrame(BadFrame::Kind::malformed,
                   fmt::format("a frame of {} bytes is longer than {}", length, limit_));
  if (bytes.size() < header_bytes + length) return std::nullopt;
  Frame frame{type, std::string(bytes.substr(header_bytes, length))};
  taken_ += header_bytes + length;
  if (taken_ == bytes_.size()) {
    std::string().swap(bytes_);  // a long frame's memory is given back
    taken_ = 0;
  }
  return frame;
}

FieldWriter& FieldWriter::number(std::uint64_t value) {
  append_little_endian(bytes_, value, 8);
  return *this;
}

FieldWriter& FieldWriter::text(std::string_view value) {
  append_little_endian(bytes_, value.size(), 4);
  bytes_.append(value);
  return *this;
}

FieldWriter& FieldWriter::texts(const std::vector<std::string>& values) {
  number(values.size());
  for (const std::string& value : values) text(value);
  return *this;
}

std::string_view FieldReader::take(std::size_t count) {
  if (count > bytes_.size()) throw_malformed();
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

std::uint64_t FieldReader::number() { return little_endian(take(8)); }

std::string FieldReader::text() { return std::string(take(little_endian(take(4)))); }

std::vector<std::string> FieldReader::texts() {
  std::vector<std::string> values;
  for (std::uint64_t left = number(); left > 0; --left) values.push_back(text());
  return values;
}

void FieldReader::end() const {
  if (!bytes_.empty()) throw_malformed();
}

}  // namespace annulus::control
