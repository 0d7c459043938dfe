// What is read through libibverbs (here its stand-in), and what NCCL is then told: the device, the
// GID index, and why a port is of no use.
#include "comm/infiniband.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/comm/ibverbs_stand_in.h"

namespace annulus {
namespace {

using Link = InfinibandPort::Link;
using stand_in::DeviceRow;

std::vector<InfinibandDevice> read(std::vector<DeviceRow> rows) {
  stand_in::devices() = std::move(rows);
  return infiniband_devices("/no-such-folder");
}

DeviceRow renamed(DeviceRow row, const char* name) {
  row.name = name;
  return row;
}

TEST(Infiniband, AnActivePortWithItsRate) {
  const auto devices = read({stand_in::infiniband_device()});
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].firmware, "20.31.1014");
  ASSERT_EQ(devices[0].ports.size(), 1u);
  const InfinibandPort& port = devices[0].ports[0];
  EXPECT_EQ(port.name, "mlx5_0:1");
  EXPECT_EQ(port.link, Link::infiniband);
  EXPECT_TRUE(port.active);
  EXPECT_EQ(port.lanes, 4);
  EXPECT_EQ(port.lane_family, "HDR");
  EXPECT_EQ(port.rate(), 200);

  const auto advice = fabric_advice(devices);
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].hca, "mlx5_0:1");
  EXPECT_FALSE(advice[0].gid_index.has_value()) << "InfiniBand needs none";
}

TEST(Infiniband, RoceTakesVersion2WithARoutableIpv4Address) {
  const auto devices = read({stand_in::roce_device()});
  const InfinibandPort& port = devices.at(0).ports.at(0);
  ASSERT_EQ(port.gids.size(), 6u) << "the table has holes";
  EXPECT_EQ(port.gids[0].type, Gid::Type::roce_v1);
  EXPECT_EQ(port.gids[2].address, "169.254.3.4");
  EXPECT_TRUE(port.gids[2].link_local);
  EXPECT_EQ(port.gids[3].index, 4);

  const auto advice = fabric_advice(devices);
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].link, Link::ethernet);
  EXPECT_EQ(advice[0].hca, "mlx5_1:1");
  EXPECT_EQ(advice[0].gid_index, 5);
  EXPECT_EQ(advice[0].gid.address, "10.1.2.3");
}

TEST(Infiniband, LesserGidsInTheirOrder) {
  DeviceRow row = stand_in::roce_device();
  auto best_after_removal = [&](const char* address) {
    std::erase_if(row.ports[0].gids,
                  [&](const stand_in::GidRow& gid) { return address == std::string(gid.address); });
    return best_gid(read({row})[0].ports[0]);
  };
  EXPECT_EQ(best_after_removal("none")->index, 5);
  EXPECT_EQ(best_after_removal("10.1.2.3")->index, 6);     // global IPv6
  EXPECT_EQ(best_after_removal("2001:db8::3")->index, 1);  // link-local version 2
  row.ports[0].gids.resize(1);
  EXPECT_EQ(best_after_removal("none")->type, Gid::Type::roce_v1);
  EXPECT_FALSE(best_after_removal("fe80::b8ce:f6ff:fe22:bb").has_value());
}

TEST(Infiniband, OneGidIndexForAllPorts) {
  DeviceRow second = renamed(stand_in::roce_device(), "mlx5_9");
  for (stand_in::GidRow& gid : second.ports[0].gids)
    if (gid.index >= 5) gid.index += 2;  // its IPv4 GID is 7, its global IPv6 one 8
  second.ports[0].gids.push_back({6, IBV_GID_TYPE_ROCE_V2, "2001:db8::9"});
  const auto advice = fabric_advice(read({stand_in::roce_device(), second}));
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].hca, "mlx5_1:1,mlx5_9:1");
  EXPECT_EQ(advice[0].gid_index, 6) << "5 is the best of the first port but a hole in the second";
  EXPECT_EQ(advice[0].rate, 200);

  second.ports[0].gids = {{9, IBV_GID_TYPE_ROCE_V2, "10.1.2.9"}};
  EXPECT_FALSE(fabric_advice(read({stand_in::roce_device(), second}))[0].gid_index.has_value());
}

TEST(Infiniband, NamesAreExactWhereAPrefixWouldTakeMore) {
  const DeviceRow tenth = renamed(stand_in::infiniband_device(), "mlx5_10");
  const auto advice = fabric_advice(read({stand_in::roce_device(), tenth}));
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_EQ(advice[0].hca, "mlx5_10:1") << "InfiniBand first";
  EXPECT_EQ(advice[1].hca, "=mlx5_1:1");
}

TEST(Infiniband, TheHcaFilterTakesNamesAndPorts) {
  const auto devices = read(
      {stand_in::infiniband_device(), stand_in::roce_device(), stand_in::device_without_cable()});
  using Names = std::vector<std::string>;
  EXPECT_EQ(match_active_ports("mlx5", devices), Names({"mlx5_0:1", "mlx5_1:1"}));
  EXPECT_EQ(match_active_ports("=mlx5_1", devices), Names({"mlx5_1:1"}));
  EXPECT_EQ(match_active_ports("mlx5:1", devices), Names({"mlx5_0:1", "mlx5_1:1"}));
  EXPECT_EQ(match_active_ports("mlx5_0:2", devices), Names{});
  EXPECT_EQ(match_active_ports("^mlx5_0", devices), Names({"mlx5_1:1"}));
  EXPECT_EQ(match_active_ports("=mlx5_2:1", devices), Names{}) << "down";
}

TEST(Infiniband, PortsThatAreOfNoUseSayWhy) {
  DeviceRow waiting = stand_in::infiniband_device();
  waiting.ports[0].state = IBV_PORT_INIT;
  const auto devices = read({stand_in::device_without_cable(), waiting, stand_in::locked_device()});
  EXPECT_FALSE(devices[0].ports[0].active);
  EXPECT_EQ(devices[0].ports[0].state, "down: no signal");
  EXPECT_NE(devices[0].ports[0].fix.find("cable"), std::string::npos);
  EXPECT_NE(devices[1].ports[0].state.find("subnet manager"), std::string::npos);
  EXPECT_EQ(devices[2].problem, "cannot be opened: Permission denied");
  EXPECT_TRUE(fabric_advice(devices).empty());
}

TEST(Infiniband, DmaBufIsAskedFor) {
  stand_in::dma_buf() = true;
  EXPECT_TRUE(read({stand_in::infiniband_device()})[0].dma_buf);
  stand_in::dma_buf() = false;
  EXPECT_FALSE(read({stand_in::infiniband_device()})[0].dma_buf);
  stand_in::dma_buf() = true;
}

TEST(Infiniband, DevicesThatOnlyTheKernelKnows) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("annulus-infiniband-" + std::to_string(::getpid()));
  for (const char* name : {"mlx5_0", "hfi1_0"}) std::filesystem::create_directories(folder / name);
  stand_in::devices() = {stand_in::infiniband_device()};
  const auto devices = infiniband_devices(folder);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].name, "hfi1_0");
  EXPECT_NE(devices[1].fix.find("/dev/infiniband"), std::string::npos);
}

TEST(Infiniband, NoDeviceIsNoError) {
  EXPECT_TRUE(read({}).empty());
  EXPECT_TRUE(fabric_advice({}).empty());
}

}  // namespace
}  // namespace annulus
