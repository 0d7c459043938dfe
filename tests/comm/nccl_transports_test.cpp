// NCCL's log, in lines of the forms that its versions have: who sends to whom over what.
#include "comm/nccl_transports.h"

#include <gtest/gtest.h>

#include <sstream>

namespace annulus {
namespace {

NcclTransports read(const std::string& log) {
  std::istringstream lines(log);
  return NcclTransports::read(lines);
}

TEST(NcclTransports, TwoNodesOverInfiniband) {
  const NcclTransports transports = read(R"(
node-a:700:731 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>
node-a:700:731 [0] NCCL INFO Using network IB
node-a:700:731 [0] NCCL INFO Channel 00/02 :    0   1   2   3
node-a:700:731 [0] NCCL INFO Ring 00 : 3 -> 0 -> 1
node-a:700:731 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0
node-a:700:731 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
node-a:700:731 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM
node-a:701:732 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA
node-b:910:944 [0] NCCL INFO Channel 00/0 : 2[0] -> 3[1] via P2P/IPC/read
node-b:911:945 [1] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [send] via NET/IB/1(2)/GDRDMA/Shared
node-b:911:945 [1] NCCL INFO Connected all rings
)");
  EXPECT_EQ(transports.describe(), "2 links over NET/IB/GDRDMA, 1 over P2P/CUMEM, 1 over P2P/IPC");
  EXPECT_FALSE(transports.uses_sockets());
}

TEST(NcclTransports, OlderAndOtherForms) {
  const NcclTransports transports = read(R"(
gpu:9:5 [6] NCCL INFO Channel 09 : 6[6] -> 7[7] via SHM/direct/direct
gpu:9:5 [7] NCCL INFO Channel 14/0 : 7[7] -> 8[0] [send] via NET/Socket/0
gpu:9:5 [0] NCCL INFO Channel 00/0 : 0[1b000] -> 1[1c000] via P2P/direct pointer
gpu:9:5 [1] NCCL INFO Channel 00/0 : 33[1] -> 40[0] [send] via NET/IBext_v8/7
gpu:9:5 [1] NCCL INFO Channel 00/0 : 34[1] -> 41[0] [send] via NET/AWS Libfabric/1/GDRDMA
)");
  EXPECT_EQ(transports.describe(),
            "1 link over NET/AWS Libfabric/GDRDMA, 1 over NET/IBext_v8, 1 over NET/Socket, 1 over "
            "P2P/direct pointer, 1 over SHM");
  EXPECT_TRUE(transports.uses_sockets());
}

TEST(NcclTransports, WhatIsNoLinkIsPassedOver) {
  EXPECT_TRUE(read("").empty());
  EXPECT_TRUE(read("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via\n"
                   "NCCL INFO Channel 00/0 : 99999999999[0] -> 1[1] via SHM\n"
                   "NCCL INFO Channel x : 0[0] -> 1[1] via SHM\n"
                   "NCCL WARN NET/Socket : via SHM\n\xff\xfe")
                  .empty());
}

TEST(NcclTransports, TravelAsTextAndAreAddedOnce) {
  NcclTransports all = read("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n");
  const NcclTransports other =
      read("NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/direct pointer\n");
  all.add(NcclTransports::parse(other.text()));
  all.add(NcclTransports::parse(all.text()));
  EXPECT_EQ(all.describe(), "2 links over P2P/direct pointer");
  EXPECT_TRUE(NcclTransports::parse("SHM\n0 x SHM\n").empty());
}

}  // namespace
}  // namespace annulus
