// InfiniBand and RoCE: the ports, their GID tables, what NCCL should be told, and what it has been
// told wrongly.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "engine/doctor/checks.h"
#include "kernels/environment.h"

namespace annulus::doctor {
namespace {

using Link = InfinibandPort::Link;

const char* name_of(Link link) {
  switch (link) {
    case Link::infiniband:
      return "InfiniBand";
    case Link::ethernet:
      return "RoCE";
    case Link::other:
      break;
  }
  return "unknown link layer";
}

const char* name_of(Gid::Type type) {
  switch (type) {
    case Gid::Type::infiniband:
      return "InfiniBand";
    case Gid::Type::roce_v1:
      return "RoCE v1";
    case Gid::Type::roce_v2:
      break;
  }
  return "RoCE v2";
}

Finding inactive_port(const InfinibandPort& port) {
  return {.state = State::warning,
          .name = port.name,
          .fact = fmt::format("{}, {}", name_of(port.link), port.state),
          .fix = port.fix};
}

Finding active_port(const InfinibandPort& port, const std::string& firmware) {
  return {
      .name = port.name,
      .fact = fmt::format("{}, active, {:g} Gb/s ({} lanes of {}), firmware {}", name_of(port.link),
                          port.rate(), port.lanes, port.lane_family, firmware)};
}

// Only RoCE has a choice.
std::vector<Finding> gid_table(const InfinibandPort& port) {
  std::vector<Finding> findings;
  const int best = port.link == Link::ethernet && !port.gids.empty() ? best_gid(port)->index : -1;
  for (const Gid& gid : port.gids)
    findings.push_back({.state = State::note,
                        .name = fmt::format("{} GID {}", port.name, gid.index),
                        .fact = fmt::format("{} {}{}", name_of(gid.type), gid.address,
                                            best == gid.index ? ", the one to use" : "")});
  return findings;
}

std::vector<Finding> ports_of(const InfinibandDevice& device) {
  if (!device.problem.empty())
    return {
        {.state = State::warning, .name = device.name, .fact = device.problem, .fix = device.fix}};
  std::vector<Finding> findings;
  for (const InfinibandPort& port : device.ports) {
    findings.push_back(port.active ? active_port(port, device.firmware) : inactive_port(port));
    if (port.active) std::ranges::move(gid_table(port), std::back_inserter(findings));
  }
  return findings;
}

// "NCCL_IB_HCA=mlx5_1:1 NCCL_IB_GID_INDEX=5".
std::string settings(const FabricAdvice& advice) {
  std::string text = "NCCL_IB_HCA=" + advice.hca;
  if (advice.gid_index) text += fmt::format(" NCCL_IB_GID_INDEX={}", *advice.gid_index);
  return text;
}

Finding to_use(const FabricAdvice& advice) {
  Finding finding{.name = fmt::format("to use {}", name_of(advice.link)),
                  .fact = fmt::format("{:g} Gb/s in all", advice.rate),
                  .fix = "set " + settings(advice)};
  if (advice.link != Link::ethernet) return finding;
  if (!advice.gid_index) {
    finding.state = State::warning;
    finding.fact += ", but no GID index is there on all ports";
    finding.fix += " and leave NCCL_IB_GID_INDEX unset (NCCL 2.21 and later choose for each port)";
    return finding;
  }
  finding.fact += fmt::format(", GID {} is {} {}", *advice.gid_index, name_of(advice.gid.type),
                              advice.gid.address);
  if (advice.gid.type != Gid::Type::roce_v2) {
    finding.state = State::warning;
    finding.fact += ", which is not routed between subnets";
  }
  return finding;
}

Finding unmatched_hca(const char* filter, const std::vector<InfinibandDevice>& devices) {
  std::string have;
  for (const std::string& port : match_active_ports("", devices))
    have += (have.empty() ? "" : ", ") + port;
  return {.state = State::error,
          .name = "NCCL_IB_HCA",
          .fact = fmt::format("'{}' takes no active port (have {})", filter, have),
          .fix = "set " + settings(fabric_advice(devices).front()),
          .code = ExitCode::usage};
}

// What the environment already says, where it is wrong for a port.
std::vector<Finding> wrong_gid_index(const char* setting, const InfinibandPort& port) {
  const std::optional<Gid> best = best_gid(port);
  const int index = std::atoi(setting);
  if (index < 0 || !best || index == best->index) return {};  // negative: NCCL chooses
  const auto gid = std::ranges::find(port.gids, index, &Gid::index);
  const bool there = gid != port.gids.end();
  if (there && gid->type == Gid::Type::roce_v2 && !gid->link_local) return {};
  return {
      {.state = there ? State::warning : State::error,
       .name = "NCCL_IB_GID_INDEX",
       .fact = fmt::format("{} is {} on {}", setting,
                           there ? fmt::format("{} {}{}", name_of(gid->type), gid->address,
                                               gid->link_local ? ", link-local" : "")
                                 : "empty",
                           port.name),
       .fix = fmt::format("set it to {} ({} {})", best->index, name_of(best->type), best->address),
       .code = ExitCode::usage}};
}

const DeclaredEnvironment kDeclared(
    "InfiniBand and RoCE (read by NCCL; looked at by annulus doctor)",
    {{"NCCL_IB_HCA", "all that are up", "adapters and ports; ^ excludes, = is exact",
      "which adapters NCCL uses"},
     {"NCCL_IB_GID_INDEX", "NCCL's choice", "a number", "which address of a RoCE port NCCL uses"},
     {"NCCL_IB_DISABLE", "0", "0 or 1", "1: NCCL uses no InfiniBand and no RoCE"}});

std::vector<Finding> check_settings(const std::vector<InfinibandDevice>& devices,
                                    const Environment& environment) {
  std::vector<Finding> findings;
  const char* hca = environment("NCCL_IB_HCA");
  const char* gid_index = environment("NCCL_IB_GID_INDEX");
  const std::vector<std::string> taken = match_active_ports(hca ? hca : "", devices);
  if (taken.empty() && !fabric_advice(devices).empty())
    findings.push_back(unmatched_hca(hca, devices));
  for (const InfinibandDevice& device : devices)
    for (const InfinibandPort& port : device.ports)
      if (gid_index && port.link == Link::ethernet &&
          std::ranges::find(taken, port.name) != taken.end())
        std::ranges::move(wrong_gid_index(gid_index, port), std::back_inserter(findings));
  return findings;
}

}  // namespace

FabricFacts read_fabric(bool on_gpus) {
  FabricFacts facts{.devices = infiniband_devices()};
  facts.memory = read_rdma_memory(facts.devices, on_gpus);
  return facts;
}

std::vector<Finding> check_fabric(const FabricFacts& facts, const Environment& environment) {
  std::vector<Finding> findings;
  for (const InfinibandDevice& device : facts.devices)
    std::ranges::move(ports_of(device), std::back_inserter(findings));
  if (facts.devices.empty())
    findings.push_back(
        {.state = State::note, .name = "adapters", .fact = "none, between hosts NCCL uses TCP"});

  const char* disable = environment("NCCL_IB_DISABLE");
  if (disable && std::strtol(disable, nullptr, 10) != 0) {
    findings.push_back({.state = State::note,
                        .name = "NCCL_IB_DISABLE",
                        .fact = fmt::format("'{}', NCCL uses no InfiniBand and no RoCE", disable)});
    return findings;
  }
  for (const FabricAdvice& advice : fabric_advice(facts.devices))
    findings.push_back(to_use(advice));
  std::ranges::move(check_settings(facts.devices, environment), std::back_inserter(findings));
  // An explicit 0 asks for InfiniBand even where this process sees none.
  if (!facts.devices.empty() || disable)
    std::ranges::move(check_rdma_memory(facts.memory), std::back_inserter(findings));
  return findings;
}

}  // namespace annulus::doctor
