// `annulus runs` and `annulus plot` on runs that `annulus train` made.
#include <nlohmann/json.hpp>

#include "tests/data/data_files.h"
#include "tests/engine/program.h"

namespace {

using annulus::test::Outcome;
using annulus::test::slurp;
using nlohmann::json;

class RunsProgram : public annulus::test::Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::filesystem::create_directories(folder_ / "data");
    annulus::test::write_cifar10(folder_ / "data", 24);
  }
  void train(const std::string& options) const {
    const Outcome outcome = run("train --data data --model mlp --batch-size 30 " + options);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
};

TEST_F(RunsProgram, ListsComparesAndPlotsWhatTrainLeft) {
  train("--epochs 2 --out runs/one");
  train("--epochs 3 --max-steps 6 --momentum 0.5 --ranks 2 --out runs/two");

  const Outcome list = run("runs --json");
  ASSERT_EQ(list.code, 0) << list.err;
  const json runs = json::parse(list.out);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["name"], "one");
  for (const json& one : runs) {
    EXPECT_EQ(one["state"], "finished");
    EXPECT_EQ(one["model"], "mlp");
    EXPECT_EQ(one["notes"], json::array());
    EXPECT_GT(one["images_per_sec"], 0);
  }
  EXPECT_EQ(runs[0]["epochs_planned"], 2);
  EXPECT_EQ(runs[1]["epochs_planned"], 3);
  EXPECT_EQ(runs[1]["ranks"], 2);
  EXPECT_NE(run("runs").out.find("2 x 30     3/3"), std::string::npos) << run("runs").out;

  const json differences = json::parse(run("runs runs/one runs/two --json").out)["differences"];
  EXPECT_EQ(differences["ranks"], json({1, 2}));
  EXPECT_EQ(differences["recipe.momentum"][1], 0.5);
  EXPECT_FALSE(differences.contains("data.sha256"));

  const Outcome plot = run("plot runs --x updates");
  EXPECT_EQ(plot.code, 0) << plot.err;
  EXPECT_EQ(plot.out, "plot.svg\n");
  const std::string svg = slurp(folder_ / "plot.svg");
  EXPECT_EQ(svg.substr(0, 5), "<?xml");
  EXPECT_NE(svg.find("two: val_accuracy"), std::string::npos);
  EXPECT_EQ(run("plot runs/one --metric loss,learning_rate --svg other.svg").out, "other.svg\n");
}

TEST_F(RunsProgram, NothingYetIsNoError) {
  const Outcome none = run("runs");
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("no runs in runs"), std::string::npos) << none.err;
  EXPECT_EQ(run("runs --json").out, "[]\n");
}

TEST_F(RunsProgram, ErrorsAreOneLineWithTheirCode) {
  train("--epochs 1 --out run");
  struct Misuse {
    const char *arguments, *says;
    int code;
  };
  for (const Misuse& misuse : {Misuse{"runs nowhere", "nowhere", 3},
                               {"plot", "RUN", 2},
                               {"plot data", "nothing to plot", 3},
                               {"plot run --x day", "--x", 2},
                               {"plot run --metric speed", "--metric speed", 2},
                               {"plot run --svg no/plot.svg", "no/plot.svg", 6},
                               {"runs run >/dev/full", "stdout", 6}}) {
    const Outcome outcome = run(misuse.arguments);
    EXPECT_EQ(outcome.code, misuse.code) << misuse.arguments << outcome.err;
    EXPECT_NE(outcome.err.find(misuse.says), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "plot.svg"));
}

}  // namespace
