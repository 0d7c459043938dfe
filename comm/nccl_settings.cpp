// See nccl_settings.h.
#include "comm/nccl_settings.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "kernels/environment.h"

namespace annulus {
namespace {

struct Setting {
  const char *name, *value;
};

constexpr Setting kRing{"NCCL_ALGO", "Ring"};
constexpr std::array kPinned = {Setting{"NCCL_PROTO", "Simple"}, Setting{"NCCL_MIN_NCHANNELS", "8"},
                                Setting{"NCCL_MAX_NCHANNELS", "8"},
                                Setting{"NCCL_NVLS_ENABLE", "0"}};

const DeclaredEnvironment kDeclared(
    "NCCL (read by NCCL; annulus sets them where they are unset)",
    {{"NCCL_NVLS_ENABLE", "NCCL's choice; with --deterministic 0", "what NCCL accepts",
      "0: no sums inside NVLink switches"},
     {"NCCL_DEBUG", "INFO", "what NCCL accepts", "how much NCCL's log says"},
     {"NCCL_DEBUG_SUBSYS", "INIT,NET,ENV", "what NCCL accepts", "what NCCL's log is about"},
     {"NCCL_DEBUG_FILE", "nccl-%h-%p.log in the run folder", "a path; %h host, %p process",
      "where NCCL logs to"}});

// True if the value is the setting's from now on.
bool set_if_unset(const Setting& setting) {
  setenv(setting.name, setting.value, 0);
  return std::string(std::getenv(setting.name)) == setting.value;
}

std::string kept(const Setting& setting) {
  return fmt::format("NCCL: {}={} is kept as it was set (else {})", setting.name,
                     std::getenv(setting.name), setting.value);
}

std::string choose_ring() {
  if (std::getenv(kRing.name)) return kept(kRing);
  set_if_unset(kRing);
  return "NCCL: NCCL_ALGO=Ring, so sums go round a ring; gives up trees and NVLS, which many or "
         "NVLink-switched devices may be faster with (set NCCL_ALGO to choose)";
}

}  // namespace

std::vector<std::string> choose_nccl_sums(bool deterministic) {
  std::vector<std::string> lines{choose_ring()};
  if (!deterministic) return lines;
  std::string pinned = "NCCL: --deterministic pins";
  for (const Setting& setting : kPinned) {
    if (set_if_unset(setting))
      pinned += fmt::format(" {}={}", setting.name, setting.value);
    else
      lines.push_back(kept(setting));
  }
  lines.push_back(pinned);
  return lines;
}

void send_nccl_log_to(const std::filesystem::path& folder) {
  set_if_unset({"NCCL_DEBUG", "INFO"});
  set_if_unset({"NCCL_DEBUG_SUBSYS", "INIT,NET,ENV"});
  set_if_unset({"NCCL_DEBUG_FILE", (folder / "nccl-%h-%p.log").c_str()});
}

}  // namespace annulus
