// `annulus data` as a user runs it, and what any command says of a data set that is not one: the
// public cases, each put where it would lie in a set, give one line and exit code 3, and nothing is
// written.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/convert.h"
#include "data/synthetic.h"
#include "tests/case_files.h"
#include "tests/data/data_files.h"
#include "tests/data/made_files.h"
#include "tests/engine/program.h"

namespace {

namespace fs = std::filesystem;

using annulus::test::Bytes;
using annulus::test::Outcome;
using annulus::test::reference;
using annulus::test::says;
using annulus::test::slurp;
using nlohmann::json;

class DataCli : public annulus::test::Program {
 protected:
  // A whole set in each layout, in folders of that name.
  void SetUp() override {
    Program::SetUp();
    annulus::Datasets colours;
    colours.train = colours.test = annulus::synthetic_images(1, 0, 20);
    annulus::convert(colours, "cifar-bin", folder_ / "bin");
    annulus::convert(colours, "cifar-py", folder_ / "py");
    annulus::test::write_file(folder_ / "idx/train-images-idx3-ubyte",
                              annulus::test::idx_images(5));
    annulus::test::write_file(folder_ / "idx/t10k-images-idx3-ubyte", annulus::test::idx_images(5));
    for (const char* name : {"idx/train-labels-idx1-ubyte", "idx/t10k-labels-idx1-ubyte"})
      annulus::test::write_file(folder_ / name, annulus::test::idx_labels({1, 2, 3, 4, 0}));
  }

  // One line on stderr, none on stdout, and it begins with the file's path.
  static void expect_one_line(const Outcome& outcome, const std::string& path) {
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\n') + 1, outcome.err.size()) << outcome.err;
    EXPECT_TRUE(says(outcome.err, "annulus: " + path + ": ")) << outcome.err;
  }
};

TEST_F(DataCli, InfoForPeopleAndForPrograms) {
  const Outcome text = run("data info py");
  EXPECT_EQ(text.code, 0) << text.err;
  for (const char* words :
       {"CIFAR-10, Python version", "20 training, 20 test", "32 x 32 x 3", "fine rings"})
    EXPECT_TRUE(says(text.out, words)) << text.out;

  const Outcome printed = run("data info --json idx");
  const json info = json::parse(printed.out);
  EXPECT_EQ(info["name"], "MNIST");
  EXPECT_EQ(info["image"], json({28, 28, 1}));
  EXPECT_EQ(info["mean"].size(), 1u);
  EXPECT_EQ(info["classes"][4], json({{"name", "4"}, {"train", 1}, {"test", 1}}));
  EXPECT_EQ(info["classes"][9]["train"], 0);
  EXPECT_TRUE(says(run("data info idx").out, info["sha256"]));
}

TEST_F(DataCli, InfoTakesWhatTrainingTakes) {
  EXPECT_TRUE(says(run("data info", "ANNULUS_DATA=bin").out, "CIFAR-10, binary version"));
  EXPECT_TRUE(says(run("data info synthetic").out, "generated"));
}

TEST_F(DataCli, ConvertKeepsTheChecksum) {
  const std::string before = json::parse(run("data info --json bin").out)["sha256"];
  EXPECT_EQ(before, json::parse(run("data info --json py").out)["sha256"]);
  const Outcome converted = run("data convert py out --to cifar-bin");
  EXPECT_EQ(converted.code, 0) << converted.err;
  EXPECT_TRUE(says(converted.out, before)) << converted.out;
  EXPECT_EQ(before, json::parse(run("data info --json out").out)["sha256"]);
  for (const char* refused : {"py out --to cifar-bin", "idx new --to cifar-py", "py new --to idx",
                              "py new --to csv", "py new"})
    EXPECT_EQ(run(std::string("data convert ") + refused).code, 2) << refused;
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

// Python's own pickle, and numpy where it is.
TEST_F(DataCli, PythonReadsWhatConvertWrites) {
  if (std::system("python3 -c ''") != 0) GTEST_SKIP() << "skipped: no python3";
  const annulus::Dataset second = annulus::synthetic_images(1, 4, 4);  // data_batch_2 has 4 of 20
  const auto sum = std::accumulate(second.images.begin(), second.images.end(), 0LL);
  const std::string read = (folder_ / "read").string();
  const std::string command = std::string("python3 ") + ANNULUS_READ_PICKLE + " " +
                              (folder_ / "py/data_batch_2").string() + " >" + read;
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(slurp(read), "(4, 3072) uint8 [4, 5, 6, 7] " + std::to_string(sum) + "\n");
}

TEST_F(DataCli, MnistTrainsAndEvaluatesInItsOwnShape) {
  for (const char* model : {"mnist-cnn", "seed-cnn", "resnet-8", "mlp"}) {
    const Outcome train = run(std::string("train --data idx --batch-size 5 --epochs 1 --model ") +
                              model + " --out run-" + model);
    EXPECT_EQ(train.code, 0) << train.err;
    EXPECT_EQ(run(std::string("eval --data idx --weights run-") + model).code, 0);
  }
  // 32x32x3 for weights of 28x28x1.
  EXPECT_EQ(run("eval --data bin --weights run-mnist-cnn").code, 3);
}

// J20: the same in a network namespace without interfaces, where that is permitted.
TEST_F(DataCli, AnEmptyFolderIsNamedAndNothingIsFetched) {
  fs::create_directories(folder_ / "empty");
  expect_one_line(run("data info empty"), "empty");
  expect_one_line(run("train --data empty --out r"), "empty");
  EXPECT_FALSE(fs::exists(folder_ / "r"));
  std::string isolated = "unshare -n";
  if (std::system("unshare -n true 2>/dev/null") != 0) isolated = "unshare -rn";  // not root
  if (std::system((isolated + " true 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "skipped: unshare -n is not permitted";
  expect_one_line(run("train --data empty --out r", isolated), "empty");
  EXPECT_EQ(run("data info bin", isolated).code, 0);
}

// Puts each case that must fail in the place of `stand_in` in a copy of the set and looks at it; a
// training run must not even make its folder.
TEST_F(DataCli, CifarCases) {
  const auto cases = reference("ANNULUS_SHARED", "cases/files/handout/cifar");
  if (!cases) GTEST_SKIP() << "skipped: no ../shared";
  const json all = *annulus::test::case_file("cifar/EXPECTED.json");
  for (const auto& [name, expected] : all.items()) {
    SCOPED_TRACE(name);
    const bool records = name.ends_with(".bin");
    const std::string file = records ? "bin/data_batch_1.bin" : "py/data_batch_1";
    fs::remove(folder_ / file);  // the one before may be read-only, as the cases are
    fs::copy_file(*cases / name, folder_ / file);
    const std::string set = records ? "bin" : "py";
    if (expected["ok"]) {
      EXPECT_EQ(run("data info " + set).code, 0);
      continue;
    }
    const Outcome outcome = run("data info " + set);
    expect_one_line(outcome, file);
    for (const json& words : expected["message_names"])
      EXPECT_TRUE(says(outcome.err, words)) << outcome.err;
    expect_one_line(run("train --out r --data " + set), file);
    EXPECT_FALSE(fs::exists(folder_ / "r"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "PWNED_HANDOUT"));
}

TEST_F(DataCli, MnistCases) {
  const auto cases = reference("ANNULUS_SHARED", "cases/files/handout/mnist");
  if (!cases) GTEST_SKIP() << "skipped: no ../shared";
  const json all = *annulus::test::case_file("mnist/EXPECTED.json");
  for (const auto& [name, expected] : all.items()) {
    if (expected["ok"] != false) continue;  // read in tests/data/reference_test
    SCOPED_TRACE(name);
    const bool packed = name.ends_with(".gz");
    const std::string kind = says(name, "labels") ? "labels-idx1" : "images-idx3";
    const std::string file = "idx/train-" + kind + "-ubyte";
    const Bytes whole = says(kind, "labels") ? annulus::test::idx_labels({1, 2, 3, 4, 0})
                                             : annulus::test::idx_images(5);
    fs::remove(folder_ / file);
    fs::copy_file(*cases / name, folder_ / (packed ? file + ".gz" : file));
    expect_one_line(run("data info idx"), packed ? file + ".gz" : file);
    fs::remove(folder_ / (packed ? file + ".gz" : file));
    annulus::test::write_file(folder_ / file, whole);
  }
}

}  // namespace
