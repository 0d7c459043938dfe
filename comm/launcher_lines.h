// Passes on what a rank writes, line by line behind its prefix. Invariant: each write is whole
// lines of one rank, so lines of several ranks never mix. Called by comm/launcher.
#pragma once

#include <string>
#include <string_view>

namespace annulus {

class LineForwarder {
 public:
  // Writes to the descriptor `out`, which it does not own.
  LineForwarder(std::string prefix, int out) : prefix_(std::move(prefix)), out_(out) {}

  void append(std::string_view bytes);
  void finish();  // ends a line that was left open

 private:
  void write_lines(std::size_t end);

  std::string prefix_;
  int out_;
  std::string pending_;
};

}  // namespace annulus
