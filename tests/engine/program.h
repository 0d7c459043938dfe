// The program as a user runs it, in a folder of its own. Used by cli_test, ranks_cli_test and
// bench_allreduce_test.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/engine/files.h"

namespace annulus::test {

struct Outcome {
  int code = -1;
  std::string out, err;
};

class Program : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("annulus-program-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs the program under a shell; `environment` as "A=1 B=2". ANNULUS_DATA and EPOCHS are not
  // inherited.
  Outcome run(const std::string& arguments, const std::string& environment = "") const {
    const auto err = folder_ / "stderr";
    const std::string command = "cd " + folder_.string() + " && env -u ANNULUS_DATA -u EPOCHS " +
                                environment + " " + ANNULUS_PROGRAM + " " + arguments + " 2>" +
                                err.string();
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 4096> chunk{};
    while (std::size_t n = fread(chunk.data(), 1, chunk.size(), pipe))
      outcome.out.append(chunk.data(), n);
    const int status = pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.err = slurp(err);
    return outcome;
  }

  // Code 4 and one line on stderr that begins so.
  static void expect_no_device(const Outcome& outcome, const std::string& says) {
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_EQ(outcome.err.find("annulus: " + says), 0u) << outcome.err;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }

  std::filesystem::path folder_;
};

}  // namespace annulus::test
