// What NCCL is told by the environment: what the user has set stays, and all is said.
#include "comm/nccl_settings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "comm/nccl_log_file.h"

namespace annulus {
namespace {

class NcclSettings : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_NVLS_ENABLE",
          "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"})
      unsetenv(name);
  }
  void TearDown() override { SetUp(); }

  static std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "; ";
    return text;
  }
  static std::string value(const char* name) {
    const char* text = std::getenv(name);
    return text ? text : "unset";
  }
};

TEST_F(NcclSettings, RingsAndWhatTheyGiveUp) {
  const std::string said = joined(choose_nccl_sums(false));
  EXPECT_EQ(value("NCCL_ALGO"), "Ring");
  EXPECT_EQ(value("NCCL_PROTO"), "unset");
  for (const char* word : {"NCCL_ALGO=Ring", "gives up trees and NVLS"})
    EXPECT_NE(said.find(word), std::string::npos) << said;
}

TEST_F(NcclSettings, WhatIsSetStaysAndIsSaid) {
  setenv("NCCL_ALGO", "Tree", 1);
  setenv("NCCL_PROTO", "LL128", 1);
  const std::string said = joined(choose_nccl_sums(true));
  EXPECT_EQ(value("NCCL_ALGO"), "Tree");
  EXPECT_EQ(value("NCCL_PROTO"), "LL128");
  EXPECT_EQ(value("NCCL_MIN_NCHANNELS"), value("NCCL_MAX_NCHANNELS"));
  EXPECT_EQ(value("NCCL_NVLS_ENABLE"), "0");
  for (const char* word : {"NCCL_ALGO=Tree is kept", "NCCL_PROTO=LL128 is kept",
                           "--deterministic pins", "NCCL_NVLS_ENABLE=0"})
    EXPECT_NE(said.find(word), std::string::npos) << word << ": " << said;
}

TEST_F(NcclSettings, TheLogGoesToTheFolderUnlessItGoesElsewhere) {
  const std::string process = std::to_string(getpid());
  send_nccl_log_to("/runs/7");
  EXPECT_EQ(value("NCCL_DEBUG"), "INFO");
  EXPECT_EQ(value("NCCL_DEBUG_SUBSYS"), "INIT,NET,ENV");
  EXPECT_EQ(value("NCCL_DEBUG_FILE"), "/runs/7/nccl-%h-%p.log");
  EXPECT_EQ(nccl_log_file(), "/runs/7/nccl-" + short_host_name() + "-" + process + ".log");
  setenv("NCCL_DEBUG", "WARN", 1);
  setenv("NCCL_DEBUG_FILE", "/tmp/100%.%p%", 1);
  send_nccl_log_to("/runs/8");
  EXPECT_EQ(value("NCCL_DEBUG"), "WARN");
  EXPECT_EQ(nccl_log_file(), "/tmp/100%." + process + "%");
  unsetenv("NCCL_DEBUG_FILE");
  EXPECT_EQ(nccl_log_file(), "");
}

}  // namespace
}  // namespace annulus
