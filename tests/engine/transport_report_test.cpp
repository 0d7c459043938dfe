// When sockets are worth a warning: InfiniBand was asked for, or is there, and nobody said no.
#include "engine/transport_report.h"

#include <gtest/gtest.h>

#include <map>

namespace annulus {
namespace {

using Variables = std::map<std::string, std::string>;

std::string unused(const std::string& way, const Variables& variables,
                   const std::vector<InfinibandDevice>& devices = {}) {
  return unused_infiniband(
      NcclTransports::parse("0 1 " + way),
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      devices);
}

std::vector<InfinibandDevice> adapter(bool active) {
  return {{.name = "mlx5_0",
           .ports = {{.name = "mlx5_0:1",
                      .link = InfinibandPort::Link::infiniband,
                      .active = active,
                      .lanes = 4,
                      .lane_rate = 25}}}};
}

TEST(UnusedInfiniband, IsSaidWhereItWasAskedForOrIsThere) {
  EXPECT_EQ(unused("NET/Socket", {{"NCCL_NET", "IB"}}), "NCCL_NET=IB is set");
  EXPECT_EQ(unused("NET/Socket", {{"NCCL_IB_HCA", "mlx5_3"}}), "NCCL_IB_HCA=mlx5_3 is set");
  EXPECT_EQ(unused("NET/Socket", {}, adapter(true)), "there is mlx5_0:1");
}

TEST(UnusedInfiniband, IsNotSaidOtherwise) {
  EXPECT_EQ(unused("NET/Socket", {}), "");
  EXPECT_EQ(unused("NET/Socket", {}, adapter(false)), "");
  EXPECT_EQ(unused("NET/Socket", {{"NCCL_NET", "Socket"}}, adapter(true)), "");
  EXPECT_EQ(unused("NET/Socket", {{"NCCL_IB_DISABLE", "1"}}, adapter(true)), "");
  EXPECT_EQ(unused("NET/IB/GDRDMA", {{"NCCL_NET", "IB"}}, adapter(true)), "");
  EXPECT_EQ(unused("P2P/CUMEM", {{"NCCL_IB_HCA", "mlx5_0"}}, adapter(true)), "");
}

}  // namespace
}  // namespace annulus
