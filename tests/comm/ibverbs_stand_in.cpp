// See ibverbs_stand_in.h.
#include "tests/comm/ibverbs_stand_in.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace annulus::stand_in {
namespace {

struct OpenDevice {
  ibv_context context{};
  const DeviceRow* row = nullptr;
};

const PortRow& port_of(ibv_context* context, std::uint32_t number) {
  return reinterpret_cast<OpenDevice*>(context)->row->ports.at(number - 1);
}

// The mapped form is ::ffff:a.b.c.d.
ibv_gid to_raw(const char* address) {
  ibv_gid gid{};
  if (inet_pton(AF_INET6, address, gid.raw) == 1) return gid;
  gid.raw[10] = gid.raw[11] = 0xff;
  inet_pton(AF_INET, address, gid.raw + 12);
  return gid;
}

}  // namespace

DeviceRow infiniband_device() {
  return {"mlx5_0", {{.gids = {{0, IBV_GID_TYPE_IB, "fe80::b8ce:f603:11:aa"}}}}};
}

DeviceRow roce_device() {
  return {"mlx5_1",
          {{.link_layer = IBV_LINK_LAYER_ETHERNET,
            .speed = 32,  // EDR
            .gids = {{0, IBV_GID_TYPE_ROCE_V1, "fe80::b8ce:f6ff:fe22:bb"},
                     {1, IBV_GID_TYPE_ROCE_V2, "fe80::b8ce:f6ff:fe22:bb"},
                     {2, IBV_GID_TYPE_ROCE_V2, "169.254.3.4"},
                     {4, IBV_GID_TYPE_ROCE_V1, "10.1.2.3"},
                     {5, IBV_GID_TYPE_ROCE_V2, "10.1.2.3"},
                     {6, IBV_GID_TYPE_ROCE_V2, "2001:db8::3"}}}}};
}

DeviceRow device_without_cable() {
  return {"mlx5_2", {{.state = IBV_PORT_DOWN, .physical_state = 2, .speed = 1}}};
}

DeviceRow locked_device() { return {.name = "mlx5_3", .opens = false}; }

std::vector<DeviceRow>& devices() {
  static std::vector<DeviceRow> rows = {infiniband_device(), roce_device(), device_without_cable(),
                                        locked_device()};
  return rows;
}

bool& dma_buf() {
  static bool there = true;
  return there;
}

}  // namespace annulus::stand_in

using namespace annulus::stand_in;

// The header makes macros and inline functions of some names; these are the library's own.
#undef ibv_get_device_list
#undef ibv_query_port

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  const std::size_t size = devices().size();
  auto** list = new ibv_device*[size + 1]();
  for (std::size_t i = 0; i < size; ++i) {
    list[i] = new ibv_device{};
    devices()[i].name.copy(list[i]->name, sizeof(list[i]->name) - 1);
  }
  if (count) *count = static_cast<int>(size);
  return list;
}

void ibv_free_device_list(ibv_device** list) {
  for (ibv_device** device = list; *device; ++device) delete *device;
  delete[] list;
}

const char* ibv_get_device_name(ibv_device* device) { return device->name; }

ibv_context* ibv_open_device(ibv_device* device) {
  const auto row = std::ranges::find(devices(), std::string(device->name), &DeviceRow::name);
  if (row == devices().end() || !row->opens) {
    errno = EACCES;
    return nullptr;
  }
  auto open = std::make_unique<OpenDevice>();
  open->row = &*row;
  return &open.release()->context;
}

int ibv_close_device(ibv_context* context) {
  delete reinterpret_cast<OpenDevice*>(context);
  return 0;
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = {};
  std::strcpy(attributes->fw_ver, "20.31.1014");
  attributes->phys_port_cnt =
      static_cast<std::uint8_t>(reinterpret_cast<OpenDevice*>(context)->row->ports.size());
  return 0;
}

int ibv_query_port(ibv_context* context, std::uint8_t number, _compat_ibv_port_attr* result) {
  const PortRow& row = port_of(context, number);
  auto* attributes = reinterpret_cast<ibv_port_attr*>(result);
  attributes->state = row.state;
  attributes->phys_state = static_cast<std::uint8_t>(row.physical_state);
  attributes->link_layer = static_cast<std::uint8_t>(row.link_layer);
  attributes->active_width = row.width;
  attributes->active_speed = row.speed;
  attributes->gid_tbl_len = 16;
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t, std::size_t) {
  const auto& gids = port_of(context, port).gids;
  const auto row = std::ranges::find(gids, index, &GidRow::index);
  if (row == gids.end()) return ENODATA;
  *entry = {.gid = to_raw(row->address), .gid_index = index, .port_num = port};
  entry->gid_type = row->type;
  return 0;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) { return new ibv_pd{.context = context}; }

int ibv_dealloc_pd(ibv_pd* domain) {
  delete domain;
  return 0;
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
  errno = dma_buf() ? EBADF : EOPNOTSUPP;
  return nullptr;
}

}  // extern "C"
