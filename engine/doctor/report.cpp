// See report.h.
#include "engine/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace annulus::doctor {
namespace {

struct Badge {
  const char* word;
  const char* colour;  // SGR parameter of a terminal
};
constexpr std::size_t kBadgeWidth = 7;

Badge badge_of(State state) {
  switch (state) {
    case State::ok:
      return {"ok", "32"};
    case State::note:
      return {"note", "2"};
    case State::warning:
      return {"warning", "33"};
    case State::error:
      break;
  }
  return {"error", "31"};
}

std::size_t longest_name(const Group& group) {
  std::size_t longest = 0;
  for (const Finding& finding : group.findings) longest = std::max(longest, finding.name.size());
  return longest;
}

std::string line(const Finding& finding, std::size_t name_width, const Look& look) {
  const Badge badge = badge_of(finding.state);
  const std::string text = finding.fact + (finding.fix.empty() ? "" : "; ") + finding.fix;
  const std::size_t indent = 2 + kBadgeWidth + 2 + name_width + 2;
  return fmt::format("  {}  {:<{}} {}\n",
                     paint(fmt::format("{:<{}}", badge.word, kBadgeWidth), badge.colour, look),
                     finding.name + ":", name_width + 1, wrap(text, indent, look.columns));
}

std::size_t count(const std::vector<Group>& groups, State state) {
  std::size_t total = 0;
  for (const Group& group : groups)
    total += static_cast<std::size_t>(std::ranges::count(group.findings, state, &Finding::state));
  return total;
}

std::string counted(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string summary(const std::vector<Group>& groups) {
  const std::size_t errors = count(groups, State::error);
  const std::size_t warnings = count(groups, State::warning);
  if (errors + warnings == 0) return "nothing to mend";
  return counted(errors, "error") + ", " + counted(warnings, "warning");
}

}  // namespace

std::string to_text(const std::vector<Group>& groups, const Look& look) {
  std::string text;
  for (const Group& group : groups) {
    text += paint(group.name, "1", look) + "\n";
    const std::size_t width = longest_name(group);
    for (const Finding& finding : group.findings) text += line(finding, width, look);
    text += "\n";
  }
  return text + summary(groups) + "\n";
}

std::string to_json(const std::vector<Group>& groups) {
  auto array = nlohmann::ordered_json::array();
  for (const Group& group : groups)
    for (const Finding& finding : group.findings)
      array.push_back({{"group", group.name},
                       {"name", finding.name},
                       {"state", badge_of(finding.state).word},
                       {"fact", finding.fact},
                       {"fix", finding.fix}});
  return array.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

ExitCode exit_code(const std::vector<Group>& groups) {
  for (const Group& group : groups)
    for (const Finding& finding : group.findings)
      if (finding.state == State::error) return finding.code;
  return ExitCode::done;
}

}  // namespace annulus::doctor
