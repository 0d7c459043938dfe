// Ranks as threads of the test's process: each has its own device, stream and communicator. The
// fixture runs a test over one transport and expects that the device's checker found nothing.
#pragma once

#include <gtest/gtest.h>
#include <nccl.h>

#include <functional>
#include <string>

#include "kernels/cpu/cudart/reports.h"
#include "kernels/cuda.h"

namespace annulus::test {

inline constexpr int kMostThreadRanks = 8;  // devices of the process

#define EXPECT_NCCL(result, call) EXPECT_EQ(call, result) << ncclGetLastError(nullptr)

struct Rank {
  int rank, world;
  ncclComm_t comm;
  const Stream& stream;
};

ncclUniqueId make_id();

// Calls work(rank) on a thread per rank, with that device current.
void on_threads(int ranks, const std::function<void(int rank)>& work);

// The same with a communicator, which is destroyed afterwards unless `work` set it to null.
void run_ranks(int world, const std::function<void(Rank& rank)>& work);

// The state of a communicator, polled until it is another than `before` or 30 s have passed.
ncclResult_t wait_for_state_after(ncclResult_t before, ncclComm_t comm);

class NcclTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Takes the reports so far; expects them to be of this kind and to name all `words`.
  static void expect_reports(std::size_t count, const std::string& kind,
                             const std::vector<std::string>& words);
};

// The parameter is the transport's name.
class TransportTest : public NcclTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override;
  void TearDown() override;
  static bool is_ring() { return std::string(GetParam()) == "tcp"; }
};

std::string transport_test_name(const testing::TestParamInfo<const char*>& info);

}  // namespace annulus::test
