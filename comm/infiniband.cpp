// The choice of ports and of the GID index; see infiniband.h. Reading the hardware:
// infiniband_verbs.cpp.
#include "comm/infiniband.h"

#include <algorithm>
#include <filesystem>

#include "comm/infiniband_verbs.h"
#include "comm/name_filter.h"

namespace annulus {
namespace {

using Link = InfinibandPort::Link;

constexpr int kUnusable = 4;

// Lower is better.
int unfitness(const Gid& gid) {
  if (gid.type != Gid::Type::roce_v2) return 3;
  if (gid.link_local) return 2;
  return gid.ipv4 ? 0 : 1;
}

const Gid* gid_at(const InfinibandPort& port, int index) {
  const auto found = std::ranges::find(port.gids, index, &Gid::index);
  return found == port.gids.end() ? nullptr : &*found;
}

int worst_unfitness(const std::vector<InfinibandPort>& ports, int index) {
  int worst = 0;
  for (const InfinibandPort& port : ports) {
    const Gid* gid = gid_at(port, index);
    worst = std::max(worst, gid ? unfitness(*gid) : kUnusable);
  }
  return worst;
}

// None where no index is there on all ports.
std::optional<int> common_gid_index(const std::vector<InfinibandPort>& ports) {
  std::optional<int> best;
  int best_unfitness = kUnusable;
  for (const Gid& gid : ports.front().gids) {
    const int unfit = worst_unfitness(ports, gid.index);
    if (unfit < best_unfitness) {
      best = gid.index;
      best_unfitness = unfit;
    }
  }
  return best;
}

std::vector<InfinibandPort> active_ports(const std::vector<InfinibandDevice>& devices, Link link) {
  std::vector<InfinibandPort> active;
  for (const InfinibandDevice& device : devices)
    for (const InfinibandPort& port : device.ports)
      if (port.active && port.link == link) active.push_back(port);
  return active;
}

// Without a leading "=", NCCL takes names as prefixes: mlx5_1 would take mlx5_10 too.
bool is_prefix_of_another(const std::string& device, const std::vector<InfinibandDevice>& devices) {
  return std::ranges::any_of(devices, [&](const InfinibandDevice& other) {
    return other.name != device && other.name.starts_with(device);
  });
}

FabricAdvice advise(Link link, const std::vector<InfinibandPort>& ports,
                    const std::vector<InfinibandDevice>& devices) {
  FabricAdvice advice{.link = link};
  bool exact = false;
  for (const InfinibandPort& port : ports) {
    advice.hca += (advice.hca.empty() ? "" : ",") + port.name;
    advice.rate += port.rate();
    exact |= is_prefix_of_another(port.name.substr(0, port.name.rfind(':')), devices);
  }
  if (exact) advice.hca.insert(0, "=");
  if (link == Link::ethernet) advice.gid_index = common_gid_index(ports);
  if (advice.gid_index) advice.gid = *gid_at(ports.front(), *advice.gid_index);
  return advice;
}

}  // namespace

std::vector<InfinibandDevice> infiniband_devices(const std::string& kernel_devices) {
  std::vector<InfinibandDevice> devices = listed_devices();
  std::error_code none_there;
  for (const auto& entry : std::filesystem::directory_iterator(kernel_devices, none_there)) {
    const std::string name = entry.path().filename();
    if (std::ranges::find(devices, name, &InfinibandDevice::name) == devices.end())
      devices.push_back(unlisted_device(name));
  }
  return devices;
}

std::optional<Gid> best_gid(const InfinibandPort& port) {
  const auto best = std::ranges::min_element(port.gids, {}, unfitness);
  if (best == port.gids.end()) return std::nullopt;
  return *best;
}

std::vector<std::string> match_active_ports(const std::string& filter,
                                            const std::vector<InfinibandDevice>& devices) {
  const NameFilter names(filter);
  std::vector<std::string> matches;
  for (const InfinibandDevice& device : devices)
    for (const InfinibandPort& port : device.ports)
      if (port.active && names.takes(port.name)) matches.push_back(port.name);
  return matches;
}

std::vector<FabricAdvice> fabric_advice(const std::vector<InfinibandDevice>& devices) {
  std::vector<FabricAdvice> advice;
  for (const Link link : {Link::infiniband, Link::ethernet})
    if (const auto ports = active_ports(devices, link); !ports.empty())
      advice.push_back(advise(link, ports, devices));
  return advice;
}

}  // namespace annulus
