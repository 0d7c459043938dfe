// See help_page.h.
#include "engine/cli/help_page.h"

#include <unistd.h>

#include <algorithm>

namespace annulus {

HelpPage::HelpPage() : look_(look_of(STDOUT_FILENO)) {
  constexpr std::size_t kStandard = 80, kWidest = 100;
  look_.columns = look_.columns == 0 ? kStandard : std::min(look_.columns, kWidest);
}

void HelpPage::heading(const std::string& text) {
  if (!text_.empty()) text_ += "\n";
  text_ += paint(text, "1", look_) + "\n";
}

void HelpPage::paragraph(const std::string& text) {
  if (!text_.empty()) text_ += "\n";
  text_ += wrap(text, 0, look_.columns) + "\n";
}

void HelpPage::entry(const std::string& name, const std::string& text, std::size_t column) {
  const std::size_t end = 2 + name.size();
  text_ += "  " + name;
  text_ += end + 2 > column ? "\n" + std::string(column, ' ') : std::string(column - end, ' ');
  text_ += wrap(text, column, look_.columns) + "\n";
}

}  // namespace annulus
