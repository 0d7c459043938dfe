// Passes on what a rank writes, line by line behind its prefix. Invariant: each write is whole
// lines of one rank, so lines of several ranks never mix; an error that ranks share is passed on
// once. Called by comm/launcher.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace annulus {

// The errors ("annulus: …") that ranks of one run have said so far.
class SaidErrors {
 public:
  // False for an error that was said before.
  bool is_news(std::string_view line) {
    return !line.starts_with("annulus: ") || said_.emplace(line).second;
  }

 private:
  std::set<std::string, std::less<>> said_;
};

class LineForwarder {
 public:
  // Writes to the descriptor `out`; owns neither that nor `said`, which all ranks share.
  LineForwarder(std::string prefix, int out, SaidErrors& said)
      : prefix_(std::move(prefix)), out_(out), said_(&said) {}

  void append(std::string_view bytes);
  void finish();  // ends a line that was left open

 private:
  void write_lines(std::size_t end);

  std::string prefix_;
  int out_;
  SaidErrors* said_;
  std::string pending_;
};

}  // namespace annulus
