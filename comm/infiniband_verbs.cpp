// Reads devices, ports and GID tables through libibverbs; see infiniband_verbs.h.
#include "comm/infiniband_verbs.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

namespace annulus {
namespace {

using Context = std::unique_ptr<ibv_context, decltype(&ibv_close_device)>;

// The specification's lane rates, in the order of the bits of active_speed.
struct LaneRate {
  const char* family;
  double gigabits;
};
constexpr std::array<LaneRate, 8> kLaneRates = {{{"SDR", 2.5},
                                                 {"DDR", 5},
                                                 {"QDR", 10},
                                                 {"FDR10", 10},
                                                 {"FDR", 14},
                                                 {"EDR", 25},
                                                 {"HDR", 50},
                                                 {"NDR", 100}}};
constexpr std::array<int, 5> kLanes = {1, 4, 8, 12, 2};  // by the bits of active_width

constexpr int kPhysicallyDisabled = 3, kPhysicallyPolling = 2;  // of phys_state

Gid to_gid(const ibv_gid_entry& entry) {
  const std::uint8_t* raw = entry.gid.raw;
  Gid gid{.index = static_cast<int>(entry.gid_index)};
  if (entry.gid_type == IBV_GID_TYPE_ROCE_V1) gid.type = Gid::Type::roce_v1;
  if (entry.gid_type == IBV_GID_TYPE_ROCE_V2) gid.type = Gid::Type::roce_v2;
  const auto* address = reinterpret_cast<const in6_addr*>(raw);
  gid.ipv4 = IN6_IS_ADDR_V4MAPPED(address) != 0;
  gid.link_local =
      gid.ipv4 ? raw[12] == 169 && raw[13] == 254 : IN6_IS_ADDR_LINKLOCAL(address) != 0;
  std::array<char, INET6_ADDRSTRLEN> text{};
  gid.address = gid.ipv4 ? inet_ntop(AF_INET, raw + 12, text.data(), text.size())
                         : inet_ntop(AF_INET6, raw, text.data(), text.size());
  return gid;
}

std::vector<Gid> gid_table(ibv_context* context, int port, int length) {
  std::vector<Gid> gids;
  for (int index = 0; index < length; ++index) {
    ibv_gid_entry entry{};
    // Fails where the table has a hole.
    if (ibv_query_gid_ex(context, port, index, &entry, 0) == 0) gids.push_back(to_gid(entry));
  }
  return gids;
}

struct State {
  const char* name;
  const char* fix;
};

State state_of(const ibv_port_attr& port) {
  if (port.state == IBV_PORT_ACTIVE) return {"active", ""};
  if (port.state == IBV_PORT_INIT)
    return {"initialising: no subnet manager has configured it",
            "start a subnet manager (opensm, or the switch's)"};
  if (port.state == IBV_PORT_ARMED)
    return {"armed: the subnet manager has not activated it yet", ""};
  if (port.phys_state == kPhysicallyDisabled)
    return {"down: disabled", "bring its interface up (ip link set … up)"};
  if (port.phys_state == kPhysicallyPolling)
    return {"down: no signal", "check the cable and the switch's port"};
  return {"down", ""};
}

InfinibandPort read_port(ibv_context* context, const std::string& device, int number) {
  InfinibandPort port{.name = device + ":" + std::to_string(number)};
  ibv_port_attr attributes{};
  if (const int error = ibv_query_port(context, number, &attributes)) {
    port.state = std::string("cannot be queried: ") + std::strerror(error);
    return port;
  }
  if (attributes.link_layer == IBV_LINK_LAYER_INFINIBAND)
    port.link = InfinibandPort::Link::infiniband;
  if (attributes.link_layer == IBV_LINK_LAYER_ETHERNET) port.link = InfinibandPort::Link::ethernet;
  port.active = attributes.state == IBV_PORT_ACTIVE;
  const State state = state_of(attributes);
  port.state = state.name;
  port.fix = state.fix;
  const auto width = static_cast<std::size_t>(std::countr_zero(attributes.active_width));
  if (width < kLanes.size()) port.lanes = kLanes[width];
  const auto speed = static_cast<std::size_t>(std::countr_zero(attributes.active_speed));
  if (speed < kLaneRates.size()) {
    port.lane_rate = kLaneRates[speed].gigabits;
    port.lane_family = kLaneRates[speed].family;
  }
  port.gids = gid_table(context, number, attributes.gid_tbl_len);
  return port;
}

// Registers nothing: a kernel without dma-buf refuses the call itself, others the descriptor.
bool takes_dma_buf(ibv_context* context) {
  ibv_pd* domain = ibv_alloc_pd(context);
  if (domain == nullptr) return false;
  errno = 0;
  ibv_reg_dmabuf_mr(domain, 0, 0, 0, -1, 0);
  const bool refused = errno == EOPNOTSUPP || errno == EPROTONOSUPPORT;
  ibv_dealloc_pd(domain);
  return !refused;
}

InfinibandDevice read_device(ibv_device* handle) {
  InfinibandDevice device{.name = ibv_get_device_name(handle)};
  errno = 0;
  const Context context(ibv_open_device(handle), &ibv_close_device);
  ibv_device_attr attributes{};
  if (!context || ibv_query_device(context.get(), &attributes) != 0) {
    device.problem = std::string("cannot be opened: ") + std::strerror(errno);
    device.fix = "give this user read and write access to its /dev/infiniband/uverbs file";
    return device;
  }
  device.firmware = attributes.fw_ver;
  device.dma_buf = takes_dma_buf(context.get());
  for (int number = 1; number <= attributes.phys_port_cnt; ++number)
    device.ports.push_back(read_port(context.get(), device.name, number));
  return device;
}

}  // namespace

InfinibandDevice unlisted_device(const std::string& name) {
  return {.name = name,
          .problem = "the kernel knows it, libibverbs does not list it",
          .fix =
              "give the container its /dev/infiniband files, and install rdma-core's user-space "
              "drivers (ibverbs-providers)"};
}

std::vector<InfinibandDevice> listed_devices() {
  std::vector<InfinibandDevice> devices;
  int count = 0;
  const std::unique_ptr<ibv_device*, decltype(&ibv_free_device_list)> list(
      ibv_get_device_list(&count), &ibv_free_device_list);
  for (int i = 0; list && i < count; ++i) devices.push_back(read_device(list.get()[i]));
  return devices;
}

}  // namespace annulus
