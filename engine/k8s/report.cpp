// See report.h.
#include "engine/k8s/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/k8s/rules.h"
#include "engine/terminal_text.h"

namespace annulus::k8s {
namespace {

using Json = nlohmann::ordered_json;

// "2.0 to 2.2", "2.3": sets that rules make have no gaps, those asked for may.
std::string in_words(const std::vector<std::string>& releases) {
  const Releases set = Releases::of(releases);
  const auto at = [](const std::string& release) {
    return static_cast<std::size_t>(std::ranges::find(kReleases, release) - kReleases.begin());
  };
  const std::size_t first = at(releases.front()), last = at(releases.back());
  if (first == last) return releases.front();
  if (set.names() == Releases::between(first, last).names() && last > first + 1)
    return releases.front() + " to " + releases.back();
  std::string words;
  for (const std::string& release : releases) words += (words.empty() ? "" : ", ") + release;
  return words;
}

// One line, whatever a manifest put into it.
std::string line(const Finding& finding) {
  std::string text =
      fmt::format("{}:{}: {}: {}: {}: {}; {}", finding.file, finding.line, finding.rule,
                  finding.object, finding.fact, finding.reason, finding.fix);
  if (!finding.releases.empty()) text += fmt::format(" (Trainer {})", in_words(finding.releases));
  return terminal_text(text) + "\n";
}

std::string dumped(const Json& array) {
  return array.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += line(finding);
  if (findings.empty()) return "nothing to mend\n";
  return text + fmt::format("{} finding{}\n", findings.size(), findings.size() == 1 ? "" : "s");
}

std::string to_json(const std::vector<Finding>& findings) {
  Json array = Json::array();
  for (const Finding& finding : findings)
    array.push_back({{"file", finding.file},
                     {"line", finding.line},
                     {"rule", finding.rule},
                     {"object", finding.object},
                     {"fact", finding.fact},
                     {"reason", finding.reason},
                     {"fix", finding.fix},
                     {"releases", finding.releases}});
  return dumped(array);
}

std::string rules_text() {
  std::string text;
  for (const Rule& rule : rules())
    text += fmt::format("{:<20} {} ({})\n", rule.name, rule.what, rule.about);
  return text;
}

std::string rules_json() {
  Json array = Json::array();
  for (const Rule& rule : rules())
    array.push_back({{"name", rule.name}, {"about", rule.about}, {"what", rule.what}});
  return dumped(array);
}

}  // namespace annulus::k8s
