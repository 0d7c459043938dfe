// What InfiniBand and RoCE hardware this machine has, read through libibverbs, and which of it NCCL
// should be told to use. Invariant: nothing here throws; a device that cannot be read says why.
// InfiniBand Architecture Specification vol. 1 (ports, rates), annexes A16 and A17 (RoCE, RoCE v2);
// NCCL user guide, NCCL_IB_HCA and NCCL_IB_GID_INDEX. Called by `annulus doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace annulus {

// A port's address. RoCE ports have several, one for each address and protocol of their interface.
struct Gid {
  enum class Type { infiniband, roce_v1, roce_v2 };
  int index = 0;
  Type type = Type::infiniband;
  std::string address;  // "fe80::1", "10.0.0.7"
  bool ipv4 = false, link_local = false;
};

struct InfinibandPort {
  enum class Link { infiniband, ethernet, other };
  std::string name;  // "mlx5_0:1": device and port, as NCCL_IB_HCA takes it
  Link link = Link::other;
  bool active = false;
  std::string state;  // "active", or why it is not
  std::string fix;    // what to do about a port that is not active; may be empty
  int lanes = 0;
  double lane_rate = 0;     // Gb/s
  std::string lane_family;  // "HDR"
  std::vector<Gid> gids;    // the valid entries of the GID table

  double rate() const { return lanes * lane_rate; }  // Gb/s
};

struct InfinibandDevice {
  std::string name, firmware;
  std::string problem;   // why it could not be opened; empty: it could
  std::string fix;       // what to do about the problem
  bool dma_buf = false;  // registers memory of other devices without a module of theirs
  std::vector<InfinibandPort> ports;
};

// The devices that libibverbs lists, and behind them those that only the kernel knows (a container
// without /dev/infiniband, no user-space driver): the folders of `kernel_devices`.
std::vector<InfinibandDevice> infiniband_devices(
    const std::string& kernel_devices = "/sys/class/infiniband");

// The GID that RoCE should use: version 2 (it is routed) with an IPv4 address that is not
// link-local, then other version 2, then version 1. None on a port without GIDs.
std::optional<Gid> best_gid(const InfinibandPort& port);

// The names of the active ports that a value of NCCL_IB_HCA takes.
std::vector<std::string> match_active_ports(const std::string& filter,
                                            const std::vector<InfinibandDevice>& devices);

// What to tell NCCL to use all active ports of one kind of link.
struct FabricAdvice {
  InfinibandPort::Link link = InfinibandPort::Link::infiniband;
  std::string hca;  // value of NCCL_IB_HCA: "mlx5_0:1,mlx5_1:1"; "=mlx5_1:1" beside mlx5_10
  std::optional<int> gid_index;  // value of NCCL_IB_GID_INDEX; none: leave it unset
  Gid gid;                       // of the first port at that index
  double rate = 0;               // Gb/s, all ports together
};

// InfiniBand before RoCE; empty where no port is active. NCCL takes one GID index for all ports:
// the one whose worst port is best.
std::vector<FabricAdvice> fabric_advice(const std::vector<InfinibandDevice>& devices);

}  // namespace annulus
