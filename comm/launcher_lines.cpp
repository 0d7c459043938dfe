// Line by line; see comm/launcher_lines.h.
#include "comm/launcher_lines.h"

#include <unistd.h>

#include <cerrno>

namespace annulus {
namespace {

// What has no end in sight is passed on as a line of its own.
constexpr std::size_t longest_line = 1 << 20;

void write_all(int out, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(out, bytes.data(), bytes.size());
    if (count >= 0)
      bytes.remove_prefix(static_cast<std::size_t>(count));
    else if (errno != EINTR && errno != EAGAIN)
      return;  // nobody reads it any more
  }
}

}  // namespace

void LineForwarder::append(std::string_view bytes) {
  pending_.append(bytes);
  const std::size_t last = pending_.rfind('\n');
  if (last != std::string::npos) write_lines(last + 1);
  if (pending_.size() > longest_line) finish();
}

void LineForwarder::finish() {
  if (pending_.empty()) return;
  pending_.push_back('\n');
  write_lines(pending_.size());
}

// The first `end` pending bytes, which are whole lines.
void LineForwarder::write_lines(std::size_t end) {
  std::string text;
  for (std::size_t begin = 0; begin < end;) {
    const std::size_t next = pending_.find('\n', begin) + 1;
    const std::string line = pending_.substr(begin, next - begin);
    if (said_->is_news(line)) text += prefix_ + line;
    begin = next;
  }
  pending_.erase(0, end);
  write_all(out_, text);
}

}  // namespace annulus
