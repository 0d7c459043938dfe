// CIFAR's records: what is read is what is stored, and whatever is wrong with them is named in one
// line.
#include "data/cifar.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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
using test::write_file;

Dataset parse(const std::vector<std::uint8_t>& bytes) {
  Dataset dataset = empty_cifar(kCifar10);
  append_cifar_records(kCifar10, "batch.bin", bytes, dataset);
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
  append_cifar_records(kCifar10, "second.bin", cifar_records(1, 3), dataset);
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

// Coarse first, fine second; the fine label is the class.
TEST(Cifar100Records, BothLabelsAreRead) {
  std::vector<std::uint8_t> bytes = {19, 99};
  const std::vector<std::uint8_t> ten = cifar_records(1, 7);
  bytes.insert(bytes.end(), ten.begin() + 1, ten.end());
  Dataset dataset = empty_cifar(kCifar100);
  append_cifar_records(kCifar100, "train.bin", bytes, dataset);
  EXPECT_EQ(dataset.classes, 100);
  EXPECT_EQ(dataset.labels, (std::vector<std::uint8_t>{99}));
  EXPECT_EQ(dataset.coarse_labels, (std::vector<std::uint8_t>{19}));
  EXPECT_EQ(dataset.images, parse(ten).images);

  const auto error_of = [](const std::vector<std::uint8_t>& bytes) {
    return data_error([&] {
      Dataset dataset = empty_cifar(kCifar100);
      append_cifar_records(kCifar100, "train.bin", bytes, dataset);
    });
  };
  bytes[0] = 20;
  EXPECT_TRUE(says(error_of(bytes), "coarse label 20 in record 0"));
  bytes[0] = 0, bytes[1] = 100;
  EXPECT_TRUE(says(error_of(bytes), ": label 100 in record 0"));
  EXPECT_TRUE(says(error_of(cifar_records(4)), "looks like CIFAR-10;"));
}

TEST(CifarPlanes, AreSplitAsTheyWereJoined) {
  const std::vector<std::uint8_t> record = cifar_records(1, 3);
  std::vector<std::uint8_t> planes(kCifarPixels);
  split_planes(parse(record).images, planes);
  EXPECT_TRUE(std::equal(planes.begin(), planes.end(), record.begin() + 1));
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
