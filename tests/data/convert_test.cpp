// Conversions: what was written reads back the same, nothing half-written is left, nothing
// replaced.
#include "data/convert.h"

#include <gtest/gtest.h>

#include <string>

#include "data/new_folder.h"
#include "data/recognise.h"
#include "data/synthetic.h"
#include "tests/data/data_files.h"
#include "tests/data/made_files.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

using test::says;
using test::TemporaryFolder;

Datasets digits() {
  Datasets datasets;
  for (Dataset* set : {&datasets.train, &datasets.test}) {
    set->name = "MNIST";
    set->image = {5, 4, 1};
    set->classes = 10;
    set->labels = {3, 1, 4};
    set->images.assign(60, 7);
  }
  datasets.test.images[59] = 200;
  return datasets;
}

Datasets colours(std::uint32_t images = 5) {
  Datasets datasets;
  datasets.train = datasets.test = synthetic_images(1, 0, images);
  return datasets;
}

// The message of the UserError with this code that `call` throws.
template <class Call>
std::string error_of(ExitCode code, Call call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Convert, IdxReadsBackTheSame) {
  const TemporaryFolder folder;
  const Datasets made = digits();
  convert(made, "idx", folder.path() / "out");
  const Datasets read = read_datasets(folder.path() / "out");
  EXPECT_EQ(read.train.images, made.train.images);
  EXPECT_EQ(read.test.images, made.test.images);
  EXPECT_EQ(read.test.labels, made.test.labels);
  EXPECT_EQ(read.train.image.width, 4);
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(Convert, WhatALayoutCannotHoldIsRefusedAndNothingIsLeft) {
  const TemporaryFolder folder;
  const auto refused = [&](const Datasets& datasets, const char* layout) {
    return error_of(ExitCode::usage, [&] { convert(datasets, layout, folder.path() / "out"); });
  };
  EXPECT_TRUE(says(refused(digits(), "cifar-bin"), "hold 32x32x3"));
  EXPECT_TRUE(says(refused(digits(), "cifar-py"), "MNIST has 3 images of 5x4x1"));
  EXPECT_TRUE(says(refused(colours(), "idx"), "holds one channel"));
  EXPECT_TRUE(says(refused(colours(4), "cifar-bin"), "five training files"));
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(Convert, AnExistingFolderIsNeverTouched) {
  const TemporaryFolder folder;
  test::write_file(folder.path() / "out" / "mine", {1});
  const std::string message = error_of(
      ExitCode::usage, [&] { convert(colours(), "cifar-bin", folder.path() / "out" / ""); });
  EXPECT_TRUE(says(message, "out: exists already")) << message;
  EXPECT_EQ(entries(folder.path()), 1u);
  EXPECT_EQ(entries(folder.path() / "out"), 1u);
}

TEST(Convert, APlaceThatCannotBeWrittenIsAStorageError) {
  const std::string message =
      error_of(ExitCode::storage, [&] { convert(colours(), "cifar-bin", "/proc/annulus/out"); });
  EXPECT_TRUE(says(message, "/proc/annulus/out: cannot be made")) << message;
}

TEST(NewFolder, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  {
    const NewFolder given_up(folder.path() / "out");
    given_up.add("file", test::bytes_of("text"));
    EXPECT_FALSE(fs::exists(folder.path() / "out"));
  }
  EXPECT_EQ(entries(folder.path()), 0u);
  NewFolder kept(folder.path() / "out");
  kept.add("file", test::bytes_of("text"));
  kept.publish();
  EXPECT_TRUE(fs::exists(folder.path() / "out" / "file"));
  EXPECT_EQ(entries(folder.path()), 1u);
}

// What another process put there in the meantime is not replaced.
TEST(NewFolder, LosesARace) {
  const TemporaryFolder folder;
  {
    NewFolder late(folder.path() / "out");
    test::write_file(folder.path() / "out" / "theirs", {1});
    error_of(ExitCode::storage, [&] { late.publish(); });
  }
  EXPECT_TRUE(fs::exists(folder.path() / "out" / "theirs"));
  EXPECT_EQ(entries(folder.path()), 1u);
}

}  // namespace
}  // namespace annulus
