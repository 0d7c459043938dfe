// What the environment changes and what it must not: the probe run under many settings.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace annulus::test {
namespace {

// What the probe prints on stdout and stderr. (ThreadSanitizer else sleeps a second at each exit.)
std::string probe(const std::string& environment, const std::string& what) {
  const std::string command =
      "TSAN_OPTIONS=\"$TSAN_OPTIONS atexit_sleep_ms=0\" "
      "ANNULUS_CPU_MODE=eager ANNULUS_CPU_CHECK=1 " +
      environment + " " + PROBE + " " + what + " 2>&1";
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 256> line;
  while (std::fgets(line.data(), line.size(), pipe)) output += line.data();
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
  return output;
}

TEST(EnvironmentTest, BitsDependOnNoSetting) {
  const std::string wanted = probe("ANNULUS_CPU_THREADS=1", "digest");
  EXPECT_EQ(wanted.size(), 17u) << wanted;
  for (const char* environment :
       {"ANNULUS_CPU_THREADS=2", "ANNULUS_CPU_THREADS=7", "ANNULUS_CPU_CHECK=0",
        "ANNULUS_CPU_MODE=threads", "ANNULUS_CPU_MODE=threads ANNULUS_CPU_CHECK=0",
        "ANNULUS_CPU_MODE=shuffled", "ANNULUS_CPU_MODE=shuffled:2",
        "ANNULUS_CPU_MODE=shuffled:3 ANNULUS_CPU_THREADS=3", "ANNULUS_CPU_THREAD_ORDER=reverse",
        "ANNULUS_CPU_THREAD_ORDER=5"}) {
    EXPECT_EQ(probe(environment, "digest"), wanted) << environment;
  }
}

TEST(EnvironmentTest, AMissingBarrierShowsAsAWrongNumberInSomeOrder) {
  bool shown = false;
  for (const char* order : {"forward", "reverse", "1", "2"}) {
    const std::string sums = probe(std::string("ANNULUS_CPU_THREAD_ORDER=") + order, "barrier");
    shown |= sums != "1024 1024\n";
    EXPECT_NE(sums.find(" 1024\n"), std::string::npos) << order << ": " << sums;
  }
  EXPECT_TRUE(shown);
}

TEST(EnvironmentTest, TheCheckerCanBeOffOrFatal) {
  EXPECT_EQ(probe("ANNULUS_CPU_CHECK=0", "race"), "cudaSuccess\n");
  const std::string on = probe("ANNULUS_CPU_CHECK=1", "race");
  EXPECT_NE(on.find("annulus cpu device: race: fill_kernel"), std::string::npos) << on;
  EXPECT_NE(on.find("cudaSuccess\n"), std::string::npos) << on;
  const std::string fatal = probe("ANNULUS_CPU_CHECK=abort", "race");
  EXPECT_NE(fatal.find("cudaErrorAssert\n"), std::string::npos) << fatal;
}

TEST(EnvironmentTest, AnInvalidValueIsRefusedWithWhatIsAccepted) {
  const std::string output = probe("ANNULUS_CPU_MODE=lazy", "status");
  EXPECT_EQ(output,
            "annulus cpu device: environment: ANNULUS_CPU_MODE=lazy is not valid: set it to eager, "
            "threads, shuffled or shuffled:SEED, or unset it\ncudaErrorInvalidValue\n");
  for (const char* environment :
       {"ANNULUS_CPU_THREADS=0", "ANNULUS_CPU_CHECK=yes", "ANNULUS_CPU_MEMORY=1G",
        "ANNULUS_CPU_FORMS=2", "ANNULUS_CPU_DEVICES=-1", "ANNULUS_CPU_THREAD_ORDER=random",
        "ANNULUS_CPU_FIRST_DEVICE=64", "ANNULUS_CPU_DRIVER_VERSION=new"}) {
    EXPECT_NE(probe(environment, "status").find("cudaErrorInvalidValue\n"), std::string::npos)
        << environment;
  }
}

TEST(EnvironmentTest, ADriverOfAnOlderMajorVersionIsRefusedByEveryCall) {
  for (const char* version : {"0", "11080"})
    EXPECT_EQ(probe(std::string("ANNULUS_CPU_DRIVER_VERSION=") + version, "status"),
              "cudaErrorInsufficientDriver\n");
  EXPECT_EQ(probe("ANNULUS_CPU_DRIVER_VERSION=99000", "status"), "cudaSuccess\n");
}

TEST(EnvironmentTest, ThereMayBeNoDevice) {
  EXPECT_EQ(probe("ANNULUS_CPU_DEVICES=0", "status"), "cudaErrorNoDevice\n");
}

}  // namespace
}  // namespace annulus::test
