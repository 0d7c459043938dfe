// Manifests of Kubernetes: what is YAML is judged by every rule, and each finding is a line of the
// file with words in it; what is not is refused in one line.
#include <algorithm>
#include <string>

#include "engine/k8s/lint.h"
#include "engine/k8s/report.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace annulus;
  const std::string text(fuzz::text_of(data, size));
  const auto [findings, faults] = k8s::lint({{"file", text}}, {});
  fuzz::require(faults.size() <= 1);
  for (const std::string& fault : faults)
    fuzz::require(!fault.empty() && fault.find('\n') == std::string::npos);
  const auto lines = 1 + std::ranges::count(text, '\n') + std::ranges::count(text, '\r');
  for (const k8s::Finding& finding : findings) {
    fuzz::require(finding.line >= 1 && finding.line <= lines);
    fuzz::require(!finding.fact.empty() && !finding.reason.empty() && !finding.fix.empty());
  }
  const std::string report = k8s::to_text(findings);
  fuzz::require(std::ranges::count(report, '\n') ==
                static_cast<std::ptrdiff_t>(findings.size()) + 1);
  static_cast<void>(k8s::to_json(findings));
  return 0;
}
