// See zone_file.h.
#include "tests/dns/zone_file.h"

namespace annulus::test {
namespace {

using Code = DnsStep::Code;

Code code_of(const std::string& text) {
  if (text == "NXDOMAIN") return Code::nxdomain;
  if (text == "SERVFAIL") return Code::servfail;
  if (text == "REFUSED") return Code::refused;
  if (text == "NODATA") return Code::no_data;
  return Code::drop;
}

DnsStep step_of(const nlohmann::json& json, double scale) {
  DnsStep step;
  step.from = std::chrono::milliseconds(static_cast<int>(json.value("t", 0.0) * scale * 1000));
  if (json.contains("rcode")) step.code = code_of(json["rcode"]);
  step.ipv4 = json.value("A", std::vector<std::string>{});
  step.ipv6 = json.value("AAAA", std::vector<std::string>{});
  for (const auto& part : json.value("cycle", nlohmann::json::array()))
    step.cycle.push_back(step_of(part, scale));
  return step;
}

}  // namespace

DnsZone zone_of(const nlohmann::json& scenario, double scale) {
  DnsZone zone;
  for (const auto& [name, steps] : scenario["zone"].items()) {
    // Nothing is there before the first step's time.
    zone[name] = always(Code::nxdomain);
    for (const auto& step : steps) zone[name].push_back(step_of(step, scale));
  }
  return zone;
}

}  // namespace annulus::test
