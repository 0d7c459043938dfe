// Which data a run gets and who decided, the checksum, and the statistics that normalisation uses.
#include "data/dataset.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "data/checksum.h"
#include "data/convert.h"
#include "tests/data/data_files.h"

namespace annulus {
namespace {

// Sets or clears ANNULUS_DATA for one test.
class DataVariable {
 public:
  explicit DataVariable(const char* value) {
    if (const char* old = std::getenv("ANNULUS_DATA")) old_ = old;
    set(value);
  }
  ~DataVariable() { set(old_ ? old_->c_str() : nullptr); }
  DataVariable(const DataVariable&) = delete;
  DataVariable& operator=(const DataVariable&) = delete;

 private:
  static void set(const char* value) {
    if (value == nullptr)
      unsetenv("ANNULUS_DATA");
    else
      setenv("ANNULUS_DATA", value, 1);
  }
  std::optional<std::string> old_;
};

TEST(LoadDatasets, TheOptionBeatsTheEnvironment) {
  const test::TemporaryFolder folder;
  test::write_cifar10(folder.path(), 1);
  const DataVariable variable("/this/folder/does/not/exist");
  const Datasets datasets = load_datasets({.spec = folder.path().string()});
  EXPECT_EQ(datasets.choice, DataChoice::option);
  EXPECT_EQ(datasets.source, folder.path().string());
}

TEST(LoadDatasets, TheEnvironmentBeatsTheSyntheticSet) {
  const test::TemporaryFolder folder;
  test::write_cifar10(folder.path(), 1);
  const DataVariable variable(folder.path().c_str());
  const Datasets datasets = load_datasets({});
  EXPECT_EQ(datasets.choice, DataChoice::environment);
  EXPECT_EQ(datasets.source, folder.path().string());
}

TEST(LoadDatasets, AWrongEnvironmentIsAnErrorNotTheSyntheticSet) {
  const DataVariable variable("/this/folder/does/not/exist");
  const std::string message = test::data_error([] { load_datasets({}); });
  EXPECT_TRUE(test::says(message, "/this/folder/does/not/exist")) << message;
}

TEST(LoadDatasets, TheSyntheticSetCanBeAskedFor) {
  const DataVariable variable("/this/folder/does/not/exist");
  const Datasets datasets = load_datasets({.spec = "synthetic"});
  EXPECT_EQ(datasets.choice, DataChoice::option);
  EXPECT_EQ(datasets.source, "synthetic");
}

TEST(LoadDatasets, WithNothingSetTheSyntheticSetStandsIn) {
  const DataVariable variable("");  // empty counts as unset
  const Datasets datasets = load_datasets({});
  EXPECT_EQ(datasets.choice, DataChoice::fallback);
  EXPECT_EQ(datasets.source, "synthetic");
}

TEST(LoadDatasets, MeasuresTheTrainingImages) {
  const test::TemporaryFolder folder;
  test::write_cifar10(folder.path(), 1);
  // Red 0 and 255 in turn, green 7 everywhere, blue 0 … 255 four times.
  std::vector<std::uint8_t> record = {0};
  for (int i = 0; i < 1024; ++i) record.push_back(i % 2 == 0 ? 0 : 255);
  record.insert(record.end(), 1024, 7);
  for (int i = 0; i < 1024; ++i) record.push_back(static_cast<std::uint8_t>(i));
  for (int k = 1; k <= 5; ++k)
    test::write_file(folder.path() / ("data_batch_" + std::to_string(k) + ".bin"), record);

  const Datasets datasets = load_datasets({.spec = folder.path().string()});
  EXPECT_FLOAT_EQ(datasets.mean[0], 127.5f);
  EXPECT_FLOAT_EQ(datasets.std_dev[0], 127.5f);
  EXPECT_FLOAT_EQ(datasets.mean[1], 7.f);
  EXPECT_FLOAT_EQ(datasets.std_dev[1], 1.f);  // of a constant channel
  EXPECT_FLOAT_EQ(datasets.mean[2], 127.5f);
  EXPECT_FLOAT_EQ(datasets.std_dev[2], 73.900272f);  // sqrt((256^2 - 1) / 12)
}

TEST(LoadDatasets, TheChecksumIsThatOfImagesAndLabelsInEveryLayout) {
  const test::TemporaryFolder folder;
  const std::filesystem::path records = folder.path() / "bin", pickles = folder.path() / "py";
  test::write_cifar10(records, 2);
  const Datasets datasets = load_datasets({.spec = records.string()});
  Sha256 expected;
  for (const Dataset* dataset : {&datasets.train, &datasets.test}) {
    expected.add(dataset->images);
    expected.add(dataset->labels);
  }
  EXPECT_EQ(datasets.checksum, expected.finish());
  convert(datasets, "cifar-py", pickles);
  EXPECT_EQ(load_datasets({.spec = pickles.string()}).checksum, datasets.checksum);

  std::vector<std::uint8_t> other = test::cifar_records(2, 6);
  other.back() ^= 1;
  test::write_file(records / "test_batch.bin", other);
  EXPECT_NE(load_datasets({.spec = records.string()}).checksum, datasets.checksum);
}

// FIPS 180-2, appendix B.1.
TEST(Sha256, OfAbc) {
  Sha256 checksum;
  const std::vector<std::uint8_t> a = {'a'}, bc = {'b', 'c'};
  checksum.add(a);
  checksum.add(bc);
  EXPECT_EQ(checksum.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(HowToGetData, NamesAddressChecksumCommandAndPage) {
  for (const char* words : {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                            "c32a1d4ab5d03f1284b67883e8d87530", "--data", "docs/data.md"})
    EXPECT_TRUE(test::says(how_to_get_data(), words)) << words;
}

}  // namespace
}  // namespace annulus
