// Shares of cores for given masks and quotas, and quotas read from copies of the kernel's files.
#include "comm/launcher_cores.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace annulus {
namespace {

namespace fs = std::filesystem;

TEST(Cores, AMaskGivenToUsIsDealtOut) {
  const auto shares = share_cores({{4, 5, 6, 7, 8}, 16, 0}, 2);
  EXPECT_EQ(shares[0].pinned_to, (std::vector<int>{4, 5}));
  EXPECT_EQ(shares[1].pinned_to, (std::vector<int>{6, 7, 8}));
  EXPECT_EQ(shares[0].threads, 2U);
  EXPECT_EQ(shares[1].threads, 3U);
}

TEST(Cores, NobodyIsPinnedOnASharedMachine) {
  for (const CoreShare& share : share_cores({{0, 1, 2, 3}, 4, 0}, 2)) {
    EXPECT_TRUE(share.pinned_to.empty());
    EXPECT_EQ(share.threads, 2U);
  }
}

TEST(Cores, NobodyIsPinnedWhereRanksOutnumberCoresOrAQuotaBinds) {
  for (const CoreShare& share : share_cores({{0, 1}, 4, 0}, 3)) {
    EXPECT_TRUE(share.pinned_to.empty());
    EXPECT_EQ(share.threads, 1U);
  }
  for (const CoreShare& share : share_cores({{0, 1, 2, 3}, 8, 2.5}, 2)) {
    EXPECT_TRUE(share.pinned_to.empty());
    EXPECT_EQ(share.threads, 1U);
  }
}

TEST(Cores, WhatIsUsableIsWithinMaskAndQuotaAndAtLeastOne) {
  EXPECT_EQ(usable_cores({{0, 1, 2}, 8, 0}), 3U);
  EXPECT_EQ(usable_cores({{0, 1, 2}, 8, 2.9}), 2U);
  EXPECT_EQ(usable_cores({{0, 1, 2}, 8, 16}), 3U);
  EXPECT_EQ(usable_cores({{0, 1, 2}, 8, 0.5}), 1U);
}

class Quota : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(root_); }
  void file(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << '\n';
  }
  const fs::path root_ = fs::temp_directory_path() / ("annulus_quota_" + std::to_string(getpid()));
};

TEST_F(Quota, TheTightestOfCgroup2IsTaken) {
  file("proc/self/cgroup", "0::/pods/mine");
  file("sys/fs/cgroup/pods/cpu.max", "300000 100000");
  EXPECT_EQ(cgroup_quota(root_), 3);
  file("sys/fs/cgroup/pods/mine/cpu.max", "150000 100000");
  EXPECT_EQ(cgroup_quota(root_), 1.5);
  file("sys/fs/cgroup/pods/mine/cpu.max", "max 100000");
  EXPECT_EQ(cgroup_quota(root_), 3);
}

TEST_F(Quota, OfCgroup1AlsoWhereTheGroupsNameIsTheHosts) {
  file("proc/self/cgroup", "4:memory:/host/name\n3:cpu,cpuacct:/host/name");
  EXPECT_EQ(cgroup_quota(root_), 0);
  file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cgroup_quota(root_), 0);
  file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000");
  EXPECT_EQ(cgroup_quota(root_), 4);
}

}  // namespace
}  // namespace annulus
