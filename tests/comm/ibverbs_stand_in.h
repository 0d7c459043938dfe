// A stand-in for libibverbs: the functions that comm/infiniband_verbs.cpp calls, answering from a
// table that a test fills. Linked into a test as objects, so that it comes before the library;
// built as a shared library it can be preloaded into the program itself.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <vector>

namespace annulus::stand_in {

struct GidRow {
  std::uint32_t index;
  ibv_gid_type type;
  const char* address;  // IPv6, or IPv4, which is stored mapped
};

struct PortRow {
  ibv_port_state state = IBV_PORT_ACTIVE;
  int physical_state = 5;  // link up
  int link_layer = IBV_LINK_LAYER_INFINIBAND;
  std::uint8_t width = 2;   // 4 lanes
  std::uint8_t speed = 64;  // HDR
  std::vector<GidRow> gids;
};

struct DeviceRow {
  std::string name;
  std::vector<PortRow> ports;
  bool opens = true;
};

// What every machine of the tests can have: an active InfiniBand port, a RoCE port with several
// GIDs, a port that is down, and a device that this process may not open.
DeviceRow infiniband_device();
DeviceRow roce_device();
DeviceRow device_without_cable();
DeviceRow locked_device();

std::vector<DeviceRow>& devices();  // what ibv_get_device_list shows; all four to begin with
bool& dma_buf();

}  // namespace annulus::stand_in
