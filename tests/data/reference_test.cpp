// Data files made elsewhere: the public cases of $ANNULUS_SHARED, each by its name against
// EXPECTED.json, and the real sets. Without them nothing is tested here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "data/cifar.h"
#include "data/cifar_pickle.h"
#include "data/file.h"
#include "data/idx.h"
#include "tests/case_files.h"
#include "tests/data/data_files.h"
#include "tests/data/made_files.h"

namespace annulus {
namespace {

using nlohmann::json;
using test::data_error;
using test::reference;
using test::says;

std::uint8_t pixel(const Dataset& dataset, const json& at) {
  const std::size_t image = at["image"], y = at["y"], x = at["x"], channel = at.value("channel", 0);
  const ImageShape& shape = dataset.image;
  return dataset.images.at(((image * shape.height + y) * shape.width + x) * shape.channels +
                           channel);
}

void expect_contents(const Dataset& dataset, const json& expected) {
  EXPECT_EQ(dataset.size(), expected.value("rows", dataset.size()));
  if (expected.contains("labels")) {
    const auto labels = expected["labels"].get<std::vector<std::uint8_t>>();
    ASSERT_GE(dataset.size(), labels.size());
    EXPECT_TRUE(std::equal(labels.begin(), labels.end(), dataset.labels.begin()));
  }
  for (const json& at : expected.value("pixels", json::array()))
    EXPECT_EQ(pixel(dataset, at), at["value"]) << at;
}

void expect_message(const std::string& message, const std::filesystem::path& path,
                    const json& expected) {
  EXPECT_TRUE(says(message, path.string() + ": ")) << message;
  for (const std::string words : expected["message_names"]) {
    const std::size_t either = words.find(" or ");  // "5 or 4720 vs 3936 bytes"
    EXPECT_TRUE(says(message, words) ||
                (either != std::string::npos && (says(message, words.substr(0, either)) ||
                                                 says(message, words.substr(either + 4)))))
        << message << " does not say " << words;
  }
}

Dataset read_cifar(const Cifar& cifar, const std::filesystem::path& path) {
  Dataset dataset = empty_cifar(cifar);
  const auto append = path.extension() == ".bin" ? append_cifar_records : append_cifar_pickle;
  append(cifar, path, read_file(path), dataset);
  return dataset;
}

// J01 to J15: as files of CIFAR-10.
TEST(CifarCases, HandOutFiles) {
  const auto folder = reference("ANNULUS_SHARED", "cases/files/handout/cifar");
  if (!folder) GTEST_SKIP() << "skipped: no ../shared";
  const json all = *test::case_file("cifar/EXPECTED.json");
  for (const auto& [name, expected] : all.items()) {
    SCOPED_TRACE(name);
    const std::filesystem::path path = *folder / name;
    if (expected["ok"])
      expect_contents(read_cifar(kCifar10, path), expected);
    else
      expect_message(data_error([&] { read_cifar(kCifar10, path); }), path, expected);
  }
  EXPECT_FALSE(std::filesystem::exists("PWNED_HANDOUT"));
}

// J09, J14: the same files as what they are.
TEST(CifarCases, FilesOfCifar100AsSuch) {
  const auto folder = reference("ANNULUS_SHARED", "cases/files/handout/cifar");
  if (!folder) GTEST_SKIP() << "skipped: no ../shared";
  const Dataset pickled = read_cifar(kCifar100, *folder / "cifar100_python.pkl");
  EXPECT_EQ(pickled.labels, (std::vector<std::uint8_t>{3, 50, 99, 7}));
  EXPECT_EQ(pickled.coarse_labels, (std::vector<std::uint8_t>{1, 2, 19, 0}));
  const Dataset records = read_cifar(kCifar100, *folder / "cifar100_train.bin");
  EXPECT_EQ(records.labels, (std::vector<std::uint8_t>{5, 16, 27, 38}));
  EXPECT_EQ(records.coarse_labels, (std::vector<std::uint8_t>{0, 1, 2, 3}));
  EXPECT_EQ(records.images[0], 0);
  EXPECT_EQ(records.images, pickled.images);
}

// J15: records where a pickle is wanted.
TEST(CifarCases, RecordsAreNoPickle) {
  const auto path = reference("ANNULUS_SHARED", "cases/files/handout/cifar/data_batch_ok.bin");
  if (!path) GTEST_SKIP() << "skipped: no ../shared";
  Dataset dataset = empty_cifar(kCifar10);
  EXPECT_TRUE(
      says(data_error([&] { append_cifar_pickle(kCifar10, *path, read_file(*path), dataset); }),
           "not a pickle (first byte 0x01)"));
}

// Images and labels of a case, its counterpart made to fit.
Dataset read_idx(const std::filesystem::path& path, std::size_t images) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  const bool is_labels = says(path.string(), "labels");
  const test::Bytes made = is_labels ? test::idx_images(static_cast<std::uint8_t>(images))
                                     : test::idx_labels(test::Bytes(images));
  const IdxFile given{path, bytes}, other{"made", made};
  Dataset dataset;
  dataset.classes = 10;
  append_idx(is_labels ? other : given, is_labels ? given : other, dataset);
  return dataset;
}

// M01 to M07.
TEST(MnistCases, HandOutFiles) {
  const auto folder = reference("ANNULUS_SHARED", "cases/files/handout/mnist");
  if (!folder) GTEST_SKIP() << "skipped: no ../shared";
  const json all = *test::case_file("mnist/EXPECTED.json");
  for (const auto& [name, given] : all.items()) {
    SCOPED_TRACE(name);
    const std::filesystem::path path = *folder / name;
    // M01's packed file holds what the plain one does.
    const json expected = given["ok"] == "either" ? all["train-images-idx3-ubyte"] : given;
    if (expected["ok"]) {
      const std::size_t images = expected.value("rows", expected.value("labels", json()).size());
      expect_contents(read_idx(path, images), expected);
    } else {
      expect_message(data_error([&] { read_idx(path, 5); }), path, expected);
    }
  }
}

constexpr const char* kCifar10Checksum =
    "80387ddb9a0edf3fc4a964ee3770296169bb26a651050df20035579673099660";

TEST(RealData, Cifar10) {
  const auto folder = reference("ANNULUS_DATA", "");
  if (!folder) GTEST_SKIP() << "skipped: no ANNULUS_DATA";
  const Datasets datasets = load_datasets({.spec = folder->string()});
  EXPECT_EQ(datasets.train.size(), 50000u);
  EXPECT_EQ(datasets.test.size(), 10000u);
  const std::vector<std::uint8_t> first(datasets.train.labels.begin(),
                                        datasets.train.labels.begin() + 10);
  EXPECT_EQ(first, (std::vector<std::uint8_t>{6, 9, 9, 4, 1, 1, 2, 7, 8, 3}));
  EXPECT_NEAR(datasets.mean[0], 125.31, 0.005);
  EXPECT_NEAR(datasets.mean[1], 122.95, 0.005);
  EXPECT_NEAR(datasets.mean[2], 113.87, 0.005);
  EXPECT_EQ(datasets.train.class_names[6], "frog");
  EXPECT_EQ(datasets.checksum, kCifar10Checksum);
}

// A writer of pickles that is not ours: images and labels are those of the binary files.
TEST(RealData, Cifar10AsPythonWroteIt) {
  const auto tool = reference("ANNULUS_SHARED", "tools/cifar_bin_to_py.py");
  const auto folder = reference("ANNULUS_DATA", "test_batch.bin");
  if (!tool || !folder) GTEST_SKIP() << "skipped: no ../shared, or no ANNULUS_DATA";
  const test::TemporaryFolder out;
  const std::string command = "python3 " + tool->string() + " " + out.path().string() + " " +
                              folder->parent_path().string() + " 400";
  if (std::system("python3 -c ''") != 0) GTEST_SKIP() << "skipped: no python3";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const Datasets pickled = load_datasets({.spec = out.path().string()});
  EXPECT_EQ(pickled.format, "CIFAR-10, Python version");
  ASSERT_EQ(pickled.train.size(), 2000u);
  std::vector<std::uint8_t> images, labels;
  for (int k = 1; k <= 5; ++k) {
    const Dataset whole =
        read_cifar(kCifar10, folder->parent_path() / ("data_batch_" + std::to_string(k) + ".bin"));
    images.insert(images.end(), whole.images.begin(), whole.images.begin() + 400 * 3072);
    labels.insert(labels.end(), whole.labels.begin(), whole.labels.begin() + 400);
  }
  EXPECT_EQ(pickled.train.images, images);
  EXPECT_EQ(pickled.train.labels, labels);
}

TEST(RealData, Mnist10k) {
  const auto folder = reference("ANNULUS_SHARED", "data/mnist-10k");
  if (!folder) GTEST_SKIP() << "skipped: no ../shared";
  const Datasets datasets = load_datasets({.spec = folder->string()});
  EXPECT_EQ(datasets.train.name, "MNIST");
  EXPECT_EQ(datasets.train.size(), 9000u);
  const std::vector<std::uint8_t> first(datasets.train.labels.begin(),
                                        datasets.train.labels.begin() + 10);
  EXPECT_EQ(first, (std::vector<std::uint8_t>{7, 2, 1, 0, 4, 1, 4, 9, 5, 9}));
  EXPECT_NEAR(datasets.mean[0], 33.7, 0.5);
}

}  // namespace
}  // namespace annulus
