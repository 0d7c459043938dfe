// CIFAR-10's files: what is read is what is stored, and whatever is wrong with them is named in one
// line.
#include "data/cifar.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "data/file.h"
#include "tests/data/data_files.h"

namespace annulus {
namespace {

using test::cifar_records;
using test::data_error;
using test::kRecordBytes;
using test::says;
using test::TemporaryFolder;
using test::write_cifar10;
using test::write_file;

Dataset parse(const std::vector<std::uint8_t>& bytes) {
  Dataset dataset = empty_cifar10();
  append_cifar10_records("batch.bin", bytes, dataset);
  return dataset;
}

std::string parse_error(const std::vector<std::uint8_t>& bytes) {
  return data_error([&] { parse(bytes); });
}

TEST(CifarRecords, PlanesBecomeInterleavedPixels) {
  const Dataset dataset = parse(cifar_records(3, 8));
  EXPECT_EQ(dataset.labels, (std::vector<std::uint8_t>{8, 9, 0}));
  ASSERT_EQ(dataset.images.size(), 3 * dataset.image.size());
  for (std::size_t image = 0; image < 3; ++image)
    for (std::size_t pixel = 0; pixel < 1024; ++pixel)
      for (std::size_t channel = 0; channel < 3; ++channel)
        ASSERT_EQ(dataset.images[(image * 1024 + pixel) * 3 + channel],
                  static_cast<std::uint8_t>(8 + image + 85 * channel + pixel));
}

TEST(CifarRecords, AreAppendedInOrder) {
  Dataset dataset = parse(cifar_records(2, 1));
  append_cifar10_records("second.bin", cifar_records(1, 3), dataset);
  const Dataset at_once = parse(cifar_records(3, 1));
  EXPECT_EQ(dataset.labels, at_once.labels);
  EXPECT_EQ(dataset.images, at_once.images);
}

// Cut anywhere, a file is either whole records or refused with both sizes.
TEST(CifarRecords, ASizeThatIsNoMultipleIsRefusedWithBothNumbers) {
  const std::vector<std::uint8_t> whole = cifar_records(4);
  for (std::size_t size = 1; size < whole.size(); size += 61) {
    const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<long>(size));
    if (size % kRecordBytes == 0) continue;
    const std::string message = parse_error(cut);
    EXPECT_TRUE(says(message, "batch.bin: " + std::to_string(size))) << message;
    EXPECT_TRUE(says(message, "not a multiple of 3073")) << message;
  }
}

TEST(CifarRecords, ALabelAboveNineIsNamedWithItsRecord) {
  std::vector<std::uint8_t> bytes = cifar_records(4);
  bytes[2 * kRecordBytes] = 10;
  EXPECT_TRUE(says(parse_error(bytes), "label 10 in record 2"));
}

TEST(CifarRecords, OtherFormatsAreCalledByTheirNames) {
  EXPECT_TRUE(says(parse_error({}), "empty"));
  std::vector<std::uint8_t> bytes = cifar_records(1);
  bytes[0] = 0x1f, bytes[1] = 0x8b;
  EXPECT_TRUE(says(parse_error(bytes), "gzip"));
  bytes[0] = 0x80, bytes[1] = 0x02;
  EXPECT_TRUE(says(parse_error(bytes), "pickle"));
  bytes.assign(4 * (kRecordBytes + 1), 0);
  EXPECT_TRUE(says(parse_error(bytes), "CIFAR-100"));
}

TEST(CifarFolder, IsReadItselfOrThroughItsParent) {
  const TemporaryFolder folder;
  const auto files = folder.path() / "cifar-10-batches-bin";
  write_cifar10(files, 2);
  for (const auto& given : {files, folder.path()}) {
    const Datasets datasets = read_cifar10(given);
    EXPECT_EQ(datasets.source, files.string());
    EXPECT_EQ(datasets.train.labels, (std::vector<std::uint8_t>{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}));
    EXPECT_EQ(datasets.test.labels, (std::vector<std::uint8_t>{6, 7}));
  }
}

TEST(CifarFolder, ClassNamesComeFromTheMetaFileWhereItIsWhole) {
  const TemporaryFolder folder;
  write_cifar10(folder.path(), 1);
  EXPECT_EQ(read_cifar10(folder.path()).train.class_names[1], "automobile");
  std::ofstream(folder.path() / "batches.meta.txt") << "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n";
  EXPECT_EQ(read_cifar10(folder.path()).train.class_names[1], "b");
  std::ofstream(folder.path() / "batches.meta.txt") << "a\nb\n";
  EXPECT_EQ(read_cifar10(folder.path()).train.class_names[1], "automobile");
}

// Every error of a folder names it, and never is anything fetched.
TEST(CifarFolder, WhatIsWrongWithItIsSaid) {
  const TemporaryFolder folder;
  const auto error_of = [](const std::filesystem::path& path) {
    std::string message = data_error([&] { read_cifar10(path); });
    EXPECT_TRUE(says(message, path.string())) << message;
    return message;
  };
  EXPECT_TRUE(says(error_of(folder.path() / "absent"), "no such data folder"));
  EXPECT_TRUE(says(error_of(folder.path()), "no CIFAR-10 file in this folder"));

  write_file(folder.path() / "file", {1});
  EXPECT_TRUE(says(error_of(folder.path() / "file"), "is not a folder"));
  EXPECT_TRUE(says(error_of(folder.path() / "file" / "below"), "no such data folder"));

  write_file(folder.path() / "packed" / "cifar-10-binary.tar.gz", {1});
  EXPECT_TRUE(
      says(error_of(folder.path() / "packed"), "run there: tar -xzf cifar-10-binary.tar.gz"));

  write_file(folder.path() / "python" / "cifar-10-batches-py" / "data_batch_1", {0x80});
  EXPECT_TRUE(says(error_of(folder.path() / "python"), "pickle"));
  EXPECT_TRUE(says(error_of(folder.path() / "python" / "cifar-10-batches-py"), "pickle"));

  write_file(folder.path() / "hundred" / "train.bin", {1});
  EXPECT_TRUE(says(error_of(folder.path() / "hundred"), "CIFAR-100"));
}

TEST(CifarFolder, MissingFilesAreListed) {
  const TemporaryFolder folder;
  write_cifar10(folder.path(), 1);
  std::filesystem::remove(folder.path() / "data_batch_3.bin");
  std::filesystem::remove(folder.path() / "test_batch.bin");
  const std::string message = data_error([&] { read_cifar10(folder.path()); });
  EXPECT_TRUE(says(message, "missing data_batch_3.bin, test_batch.bin")) << message;
}

TEST(CifarFolder, ADamagedFileIsNamedWithItsPath) {
  const TemporaryFolder folder;
  write_cifar10(folder.path(), 1);
  write_file(folder.path() / "data_batch_4.bin", std::vector<std::uint8_t>(3072));
  const std::string message = data_error([&] { read_cifar10(folder.path()); });
  EXPECT_TRUE(says(message, (folder.path() / "data_batch_4.bin").string() + ": 3072")) << message;
}

TEST(ReadFile, GivesTheSystemsReason) {
  const TemporaryFolder folder;
  EXPECT_TRUE(says(data_error([&] { read_file(folder.path() / "absent"); }), "No such file"));
  EXPECT_TRUE(says(data_error([&] { read_file(folder.path()); }), "is not a regular file"));
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(
      says(data_error([&] { read_file(folder.path() / "pipe"); }), "is not a regular file"));
  write_file(folder.path() / "locked", {1});
  std::filesystem::permissions(folder.path() / "locked", std::filesystem::perms::none);
  if (geteuid() == 0) return;  // root may read everything
  EXPECT_TRUE(says(data_error([&] { read_file(folder.path() / "locked"); }), "Permission denied"));
}

}  // namespace
}  // namespace annulus
