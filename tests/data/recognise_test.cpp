// Which folder, layout or archive is recognised, what every layout of one set has in common, and
// what is said where nothing fits.
#include "data/recognise.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "data/convert.h"
#include "data/synthetic.h"
#include "tests/data/data_files.h"
#include "tests/data/made_files.h"

namespace annulus {
namespace {

namespace fs = std::filesystem;

using test::Bytes;
using test::data_error;
using test::says;
using test::TemporaryFolder;
using test::write_cifar10;
using test::write_file;

std::string error_of(const fs::path& path) {
  std::string message = data_error([&] { read_datasets(path); });
  EXPECT_TRUE(says(message, path.string())) << message;
  return message;
}

Bytes file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// All files of a folder as an archive, last name first: order must not matter.
Bytes archive_of(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.rbegin(), paths.rend());
  std::vector<Bytes> members = {test::tar_member(prefix, {}, '5')};
  for (const fs::path& path : paths)
    members.push_back(test::tar_member(prefix + path.filename().string(), file_bytes(path)));
  return test::tar(members);
}

void write_mnist(const fs::path& folder, const Bytes& train_labels = {0, 1, 2, 9}) {
  write_file(folder / "train-images-idx3-ubyte",
             test::idx_images(static_cast<std::uint8_t>(train_labels.size())));
  write_file(folder / "train-labels-idx1-ubyte", test::idx_labels(train_labels));
  write_file(folder / "t10k-images-idx3-ubyte", test::idx_images(2));
  write_file(folder / "t10k-labels-idx1-ubyte", test::idx_labels({3, 4}));
}

TEST(Recognise, IsReadItselfOrThroughItsParent) {
  const TemporaryFolder folder;
  const auto files = folder.path() / "cifar-10-batches-bin";
  write_cifar10(files, 2);
  for (const auto& given : {files, folder.path()}) {
    const Datasets datasets = read_datasets(given);
    EXPECT_EQ(datasets.source, files.string());
    EXPECT_EQ(datasets.train.labels, (std::vector<std::uint8_t>{1, 2, 2, 3, 3, 4, 4, 5, 5, 6}));
    EXPECT_EQ(datasets.test.labels, (std::vector<std::uint8_t>{6, 7}));
  }
}

TEST(Recognise, ClassNamesComeFromTheMetaFileWhereItIsWhole) {
  const TemporaryFolder folder;
  write_cifar10(folder.path(), 1);
  EXPECT_EQ(read_datasets(folder.path()).train.class_names[1], "automobile");
  std::ofstream(folder.path() / "batches.meta.txt") << "a\r\nb\r\nc\nd\ne\nf\ng\nh\ni\nj\n\n";
  EXPECT_EQ(read_datasets(folder.path()).train.class_names[1], "b");
  std::ofstream(folder.path() / "batches.meta.txt") << "a\nb\n";
  EXPECT_EQ(read_datasets(folder.path()).train.class_names[1], "automobile");
}

TEST(Recognise, MissingFilesAreListed) {
  const TemporaryFolder folder;
  write_cifar10(folder.path(), 1);
  std::filesystem::remove(folder.path() / "data_batch_3.bin");
  std::filesystem::remove(folder.path() / "test_batch.bin");
  const std::string message = data_error([&] { read_datasets(folder.path()); });
  EXPECT_TRUE(says(message, "missing data_batch_3.bin, test_batch.bin")) << message;
}

TEST(Recognise, ADamagedFileIsNamedWithItsPath) {
  const TemporaryFolder folder;
  write_cifar10(folder.path(), 1);
  write_file(folder.path() / "data_batch_4.bin", std::vector<std::uint8_t>(3072));
  const std::string message = data_error([&] { read_datasets(folder.path()); });
  EXPECT_TRUE(says(message, (folder.path() / "data_batch_4.bin").string() + ": 3072")) << message;
}

TEST(Recognise, CifarInEveryLayoutIsTheSame) {
  const TemporaryFolder folder;
  Datasets made;
  made.train = synthetic_images(1, 0, 23);
  made.test = synthetic_images(1, 23, 7);
  convert(made, "cifar-bin", folder.path() / "bin");
  convert(made, "cifar-py", folder.path() / "py");
  const fs::path packed = folder.path() / "packed" / "any name";
  write_file(packed, test::gzip(archive_of(folder.path() / "py", "cifar-10-batches-py/")));
  const fs::path plain = folder.path() / "plain" / "any.tar";
  write_file(plain, archive_of(folder.path() / "bin", "./"));
  for (const fs::path& path : {folder.path() / "bin", folder.path() / "py", packed, plain}) {
    SCOPED_TRACE(path);
    const Datasets read = read_datasets(path);
    EXPECT_EQ(read.source, path.string());
    EXPECT_EQ(read.train.labels, made.train.labels);
    EXPECT_EQ(read.train.images, made.train.images);
    EXPECT_EQ(read.test.labels, made.test.labels);
    EXPECT_EQ(read.test.images, made.test.images);
    EXPECT_EQ(read.train.class_names, made.train.class_names);
  }
  EXPECT_EQ(read_datasets(packed).format, "CIFAR-10, Python version");
  EXPECT_EQ(read_datasets(plain).format, "CIFAR-10, binary version");
}

TEST(Recognise, Cifar100InEveryLayoutIsTheSame) {
  const TemporaryFolder folder;
  Datasets made;
  for (Dataset* set : {&made.train, &made.test}) {
    *set = synthetic_images(2, 0, 6);
    set->classes = 100;
    set->labels = {0, 99, 5, 6, 98, 1};
    set->coarse_labels = {19, 0, 1, 2, 3, 4};
    set->class_names.assign(100, "thing");
  }
  convert(made, "cifar-bin", folder.path() / "bin");
  convert(made, "cifar-py", folder.path() / "py");
  for (const char* name : {"bin", "py"}) {
    const Datasets read = read_datasets(folder.path() / name);
    EXPECT_EQ(read.train.name, "CIFAR-100");
    EXPECT_EQ(read.train.labels, made.train.labels);
    EXPECT_EQ(read.test.coarse_labels, made.test.coarse_labels);
    EXPECT_EQ(read.test.images, made.test.images);
    EXPECT_EQ(read.train.class_names, made.train.class_names);
  }
}

TEST(Recognise, MnistByAnySpellingPlainOrGzip) {
  const TemporaryFolder folder;
  write_mnist(folder.path() / "usual");
  const Datasets usual = read_datasets(folder.path() / "usual");
  EXPECT_EQ(usual.train.name, "MNIST");
  EXPECT_EQ(usual.train.image.height, 28);
  EXPECT_EQ(usual.train.image.channels, 1);
  EXPECT_EQ(usual.train.labels, (Bytes{0, 1, 2, 9}));
  EXPECT_EQ(usual.test.labels, (Bytes{3, 4}));
  for (const std::string suffix : {"", ".gz"}) {
    const fs::path other = folder.path() / fmt::format("other{}", suffix);
    for (const char* name : {"train-images", "train-labels", "t10k-images", "t10k-labels"}) {
      const std::string kind = std::string(name).ends_with("images") ? "idx3-ubyte" : "idx1-ubyte";
      // All are packed, whether the name says so or not.
      const Bytes bytes = file_bytes(folder.path() / "usual" / fmt::format("{}-{}", name, kind));
      write_file(other / fmt::format("{}.{}{}", name, kind, suffix), test::gzip(bytes));
    }
    const Datasets read = read_datasets(other);
    EXPECT_EQ(read.train.images, usual.train.images);
    EXPECT_EQ(read.train.labels, usual.train.labels);
    EXPECT_EQ(read.test.images, usual.test.images);
  }
}

TEST(Recognise, FashionByItsFirstLabelsOrItsFolder) {
  const TemporaryFolder folder;
  write_mnist(folder.path() / "first" / "raw", {9, 0, 0, 3, 0, 2, 7, 2, 5, 5});
  write_mnist(folder.path() / "FashionMNIST" / "raw");
  for (const char* name : {"first", "FashionMNIST"}) {
    const Datasets read = read_datasets(folder.path() / name);
    EXPECT_EQ(read.train.name, "Fashion-MNIST");
    EXPECT_EQ(read.test.class_names[9], "Ankle boot");
  }
}

TEST(Recognise, AnUnpackedFolderBeatsItsArchiveAndTwoSetsAreNoChoice) {
  const TemporaryFolder folder;
  write_cifar10(folder.path() / "cifar-10-batches-bin", 1);
  write_file(folder.path() / "cifar-10-binary.tar.gz", {1, 2, 3});
  EXPECT_EQ(read_datasets(folder.path()).source, (folder.path() / "cifar-10-batches-bin").string());
  write_mnist(folder.path() / "digits");
  EXPECT_TRUE(says(error_of(folder.path()), "name one of: cifar-10-batches-bin, digits"));

  fs::remove_all(folder.path() / "digits");
  const Bytes archive = archive_of(folder.path() / "cifar-10-batches-bin", "");
  fs::remove_all(folder.path() / "cifar-10-batches-bin");
  write_file(folder.path() / "cifar-10-binary.tar.gz", archive);  // a plain tar: contents decide
  EXPECT_EQ(read_datasets(folder.path()).train.size(), 5u);
}

// Every error names the folder or file, and never is anything fetched.
TEST(Recognise, WhatIsWrongIsSaid) {
  const TemporaryFolder folder;
  EXPECT_TRUE(says(error_of(folder.path() / "absent"), "no such data folder"));
  EXPECT_TRUE(says(error_of(folder.path()), "no data set in this folder"));

  write_file(folder.path() / "file", {'<', 'h', 't', 'm', 'l', '>', '\n'});
  EXPECT_TRUE(says(error_of(folder.path() / "file"), "begins with '<html>?'"));
  EXPECT_TRUE(says(error_of(folder.path() / "file" / "below"), "no such data folder"));

  write_file(folder.path() / "one" / "data_batch_1", {0x80});
  EXPECT_TRUE(says(error_of(folder.path() / "one" / "data_batch_1"), "name its folder, "));

  const fs::path archive = folder.path() / "archive.tar.gz";
  Bytes packed = test::gzip(test::tar({test::tar_member("notes", {1, 2})}));
  write_file(archive, packed);
  EXPECT_TRUE(says(error_of(archive), "no data set in this archive"));
  packed.resize(packed.size() - 9);
  write_file(archive, packed);
  EXPECT_TRUE(says(error_of(archive), "truncated gzip"));

  write_file(folder.path() / "mixed" / "train", {0x80});  // no "test": not enough to be CIFAR-100
  EXPECT_TRUE(says(error_of(folder.path() / "mixed"), "no data set in this folder"));
}

TEST(Recognise, AFolderThatMayNotBeReadIsSaid) {
  if (geteuid() == 0) GTEST_SKIP() << "skipped: root may read everything";
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "locked");
  fs::permissions(folder.path() / "locked", fs::perms::none);
  EXPECT_TRUE(says(error_of(folder.path() / "locked"), "cannot be read: Permission denied"));
  fs::permissions(folder.path() / "locked", fs::perms::owner_all);  // or it cannot be removed
}

// A file inside an archive is named with both paths.
TEST(Recognise, ADamagedMemberIsNamed) {
  const TemporaryFolder folder;
  const fs::path archive = folder.path() / "c.tar";
  std::vector<Bytes> members;
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})
    members.push_back(test::tar_member(fmt::format("d/{}", name), Bytes(3072)));
  write_file(archive, test::tar(members));
  EXPECT_TRUE(says(error_of(archive), "c.tar/d/data_batch_1.bin: 3072 bytes is not a multiple"));
}

}  // namespace
}  // namespace annulus
