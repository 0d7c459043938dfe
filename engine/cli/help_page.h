// A page of help as it grows: headings, paragraphs, and names with their text beside them. It is as
// wide as stdout's terminal, up to 100 columns, and 80 elsewhere. Used by help and environment.
#pragma once

#include <cstddef>
#include <string>

#include "comm/terminal.h"

namespace annulus {

class HelpPage {
 public:
  HelpPage();

  void heading(const std::string& text);
  void paragraph(const std::string& text);
  // The text starts in `column`, on a line of its own where the name is too long.
  void entry(const std::string& name, const std::string& text, std::size_t column = 28);

  const std::string& text() const { return text_; }

 private:
  Look look_;
  std::string text_;
};

}  // namespace annulus
