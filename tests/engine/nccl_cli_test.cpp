// What `annulus train` says of NCCL when training starts, and the logs that it leaves in the run
// folder; the CPU device's NCCL logs as the real one does.
#include <gtest/gtest.h>

#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;
using annulus::test::slurp;

constexpr const char* kTrain =
    "train --ranks 2 --model mlp --data synthetic --max-steps 2 --out run ";
const std::string kTcp = "NCCL_SHM_DISABLE=1 NCCL_SOCKET_IFNAME=lo ";

class NcclProgram : public annulus::test::Program {
 protected:
  // Of a run that ends well: what it says, and what its ranks' NCCL logged.
  std::string said(const std::string& options, const std::string& environment = "") {
    std::filesystem::remove_all(folder_ / "run");
    const Outcome outcome = run(kTrain + options, "ANNULUS_CPU_CHECK=1 " + environment);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    logs_ = 0;
    log_.clear();
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run"))
      if (entry.path().filename().string().starts_with("nccl-")) {
        ++logs_;
        log_ += slurp(entry.path());
      }
    return outcome.err;
  }
  static bool has(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  }

  int logs_ = 0;
  std::string log_;
};

TEST_F(NcclProgram, TransportsAreOneLineAndTheLogsAreInTheRunFolder) {
  const std::string text = said("");
  EXPECT_TRUE(has(text, ": 2 links over SHM; log: ")) << text;
  EXPECT_TRUE(has(text, "NCCL: NCCL_ALGO=Ring")) << text;
  EXPECT_FALSE(has(text, "warning")) << text;
  EXPECT_EQ(logs_, 2);
  EXPECT_TRUE(has(log_, "NCCL INFO Channel 00/0 : 1[1] -> 0[0] via SHM/direct/direct")) << log_;
}

TEST_F(NcclProgram, SocketsInPlaceOfInfinibandAreWarnedOf) {
  const std::string text = said("", kTcp + "NCCL_IB_HCA=mlx5_0 ");
  EXPECT_TRUE(has(text, ": 2 links over NET/Socket; log: ")) << text;
  EXPECT_TRUE(has(text, "NCCL_IB_HCA=mlx5_0 is set, but NCCL uses sockets")) << text;
  const std::string asked = said("", kTcp + "NCCL_NET=Socket ");
  EXPECT_FALSE(has(asked, "warning")) << asked;
}

TEST_F(NcclProgram, DeterministicPinsAndKeepsWhatIsSet) {
  const std::string text = said("--deterministic", "NCCL_PROTO=LL ANNULUS_CPU_UNSTEADY_ENGINE=1 ");
  EXPECT_TRUE(has(text, "NCCL_PROTO=LL is kept")) << text;
  EXPECT_TRUE(has(text, "--deterministic pins NCCL_MIN_NCHANNELS=8")) << text;
  EXPECT_TRUE(has(slurp(folder_ / "run/config.json"), R"("deterministic": true)"));
}

TEST_F(NcclProgram, ALogThatTheUserWantsElsewhereIsLeftThere) {
  const std::string text = said("", "NCCL_DEBUG=WARN ");
  EXPECT_TRUE(has(text, "its log tells no transports")) << text;
  EXPECT_EQ(log_, "");
  EXPECT_TRUE(has(said("", "NCCL_DEBUG_FILE=mine-%p "), "; log: mine-%p\n"));
  EXPECT_EQ(logs_, 0);
}

}  // namespace
