// See transport_report.h.
#include "engine/transport_report.h"

#include <fmt/format.h>
#include <nccl.h>

#include <cstdlib>

#include "comm/host_name.h"
#include "kernels/environment.h"

namespace annulus {
namespace {

const DeclaredEnvironment kDeclared(
    "Which network (read by NCCL; annulus warns where another one is used)",
    {{"NCCL_NET", "NCCL's choice", "IB, Socket or a plugin's name", "the network between hosts"}});

std::string value(const Environment& environment, const char* name) {
  const char* text = environment(name);
  return text ? text : "";
}

const char* process_environment(const char* name) { return std::getenv(name); }

// One rank's words for rank 0: a line of warning, which may be empty, then its links.
std::string told_by_this_rank() {
  const NcclTransports transports = NcclTransports::of_this_process();
  const std::vector<InfinibandDevice> devices =
      transports.uses_sockets() ? infiniband_devices() : std::vector<InfinibandDevice>{};
  const std::string unused = unused_infiniband(transports, process_environment, devices);
  return (unused.empty() ? "" : fmt::format("on {} {}", host_name(), unused)) + "\n" +
         transports.text();
}

std::string version() {
  int number = 0;
  ncclGetVersion(&number);
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace

std::string unused_infiniband(const NcclTransports& transports, const Environment& environment,
                              const std::vector<InfinibandDevice>& devices) {
  if (!transports.uses_sockets()) return "";
  const std::string net = value(environment, "NCCL_NET"), hca = value(environment, "NCCL_IB_HCA");
  if (net == "IB") return "NCCL_NET=IB is set";
  if (!net.empty() || value(environment, "NCCL_IB_DISABLE") == "1") return "";
  if (!hca.empty()) return fmt::format("NCCL_IB_HCA={} is set", hca);
  const std::vector<FabricAdvice> usable = fabric_advice(devices);
  return usable.empty() ? "" : fmt::format("there is {}", usable.front().hca);
}

std::string transport_report(ControlChannel& control) {
  NcclTransports all;
  std::string warning;
  for (const std::string& told : control.gather(told_by_this_rank())) {
    const std::size_t end = told.find('\n');
    if (warning.empty()) warning = told.substr(0, end);
    all.add(NcclTransports::parse(told.substr(end + 1)));
  }
  std::string report =
      all.empty() ? fmt::format(
                        "NCCL {}: its log tells no transports (NCCL_DEBUG, NCCL_DEBUG_SUBSYS, "
                        "NCCL_DEBUG_FILE are set otherwise)\n",
                        version())
                  : fmt::format("NCCL {}: {}; log: {}\n", version(), all.describe(),
                                value(process_environment, "NCCL_DEBUG_FILE"));
  if (!warning.empty())
    report += fmt::format(
        "warning: {}, but NCCL uses sockets (NET/Socket); its log says why, and "
        "annulus doctor what to set\n",
        warning);
  return report;
}

}  // namespace annulus
