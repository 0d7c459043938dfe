// A file is there whole or not at all; what a killed writer left is cleared, and nothing else.
#include "data/file_writer.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "kernels/check.h"
#include "tests/data/data_files.h"

namespace annulus {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

std::string error_of(const std::filesystem::path& path, const std::string& text) {
  try {
    write_file(path, text);
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), ExitCode::storage);
    return error.what();
  }
  return "no error";
}

TEST(FileWriter, ReplacesWhole) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "weights";
  write_file(path, std::string_view("first"));
  write_file(path, std::string_view("second"));
  EXPECT_EQ(text_of(path), "second");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

// A limit on the file's size stands in for a full disk.
TEST(FileWriter, AFailureLeavesTheOldFile) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "weights";
  write_file(path, std::string_view("first"));
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit limit{1000, old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string error = error_of(path, std::string(2000, 'x'));
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(error.find("weights"), std::string::npos) << error;
  EXPECT_NE(error.find("File too large"), std::string::npos) << error;
  EXPECT_EQ(text_of(path), "first");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(FileWriter, WhatIsNoFileStaysWhatItIs) {
  const test::TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "target", link = folder.path() / "link";
  write_file(target, std::string_view("first"));
  std::filesystem::create_symlink(target, link);
  write_file(link, std::string_view("second"));
  EXPECT_TRUE(is_symlink(link));
  EXPECT_EQ(text_of(target), "second");
  EXPECT_NE(error_of("/dev/full", "text").find("No space left"), std::string::npos);
  EXPECT_TRUE(is_character_file(std::filesystem::path("/dev/full")));
}

TEST(FileWriter, AMissingFolderIsNamed) {
  const std::string error = error_of("/nowhere/weights", "text");
  EXPECT_NE(error.find("/nowhere/weights"), std::string::npos) << error;
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
}

TEST(FileWriter, ClearsWhatKilledWritersLeft) {
  const test::TemporaryFolder folder;
  for (const char* name : {"step-1", "step-1.77.tmp", "other.77.tmp"})
    write_file(folder.path() / name, std::string_view("x"));
  remove_left_over_files(folder.path(), "step-");
  EXPECT_TRUE(exists(folder.path() / "step-1"));
  EXPECT_FALSE(exists(folder.path() / "step-1.77.tmp"));
  EXPECT_TRUE(exists(folder.path() / "other.77.tmp"));
}

}  // namespace
}  // namespace annulus
