// CIFAR-10 against files made elsewhere: the reference cases under $ANNULUS_SHARED and the real set
// under $ANNULUS_DATA. Without them nothing is tested here.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "data/cifar.h"
#include "data/file.h"
#include "tests/data/data_files.h"

namespace annulus {
namespace {

using nlohmann::json;
using test::data_error;
using test::reference;
using test::says;

Dataset read_records(const std::filesystem::path& path) {
  Dataset dataset = empty_cifar10();
  append_cifar10_records(path, read_file(path), dataset);
  return dataset;
}

void expect_contents(const Dataset& dataset, const json& expected) {
  EXPECT_EQ(dataset.size(), expected["rows"].get<std::size_t>());
  EXPECT_EQ(dataset.labels, expected["labels"].get<std::vector<std::uint8_t>>());
  for (const json& pixel : expected["pixels"]) {
    const std::size_t image = pixel["image"], y = pixel["y"], x = pixel["x"],
                      channel = pixel["channel"];
    EXPECT_EQ(dataset.images[((image * 32 + y) * 32 + x) * 3 + channel], pixel["value"]) << pixel;
  }
}

// The expectations of the Python files speak of a pickle reader; as records they have only to be
// refused by name.
TEST(CifarReference, HandOutFiles) {
  const auto folder = reference("ANNULUS_SHARED", "cases/files/handout/cifar");
  if (!folder) GTEST_SKIP() << "skipped: no ../shared";
  const json all = json::parse(std::ifstream(*folder / "EXPECTED.json"));
  for (const auto& [name, expected] : all.items()) {
    SCOPED_TRACE(name);
    const std::filesystem::path path = *folder / name;
    const bool binary = path.extension() == ".bin";
    if (binary && expected["ok"]) {
      expect_contents(read_records(path), expected);
      continue;
    }
    const std::string message = data_error([&] { read_records(path); });
    EXPECT_TRUE(says(message, path.string())) << message;
    if (!binary) continue;
    for (const json& words : expected["message_names"])
      EXPECT_TRUE(says(message, words)) << message << " does not say " << words;
  }
}

TEST(CifarReference, RealTrainingSet) {
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
  EXPECT_EQ(datasets.checksum, "013ba16d14ecc4829da62bf2af648ca30f600491ecb3e7f329c827db0dd17522");
}

}  // namespace
}  // namespace annulus
