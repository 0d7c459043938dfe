// What a run says, as what collects it sees it: Katib's StdOut collector over stdout and stderr in
// one file, a pipe that is watched, a log that loses lines with carriage returns.
#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/data/data_files.h"
#include "tests/engine/annulus_process.h"
#include "tests/engine/program.h"
#include "tests/pattern.h"

namespace {

using annulus::test::all_matches;
using annulus::test::AnnulusProcess;
using annulus::test::Groups;
using annulus::test::Outcome;
using annulus::test::slurp;

class Log : public annulus::test::Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::filesystem::create_directories(folder_ / "data");
    annulus::test::write_cifar10(folder_ / "data", 24);
  }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// What the default filter of kubeflow/katib finds: the values of each name, in their order.
std::map<std::string, std::vector<std::string>> katib_values(const std::string& log) {
  const std::string filter = R"(([\w|-]+)\s*=\s*([+-]?\d*(\.\d+)?([Ee][+-]?\d+)?))";
  std::map<std::string, std::vector<std::string>> values;
  for (const std::string& line : lines_of(log))
    for (const Groups& match : all_matches(line, filter)) values[match[1]].push_back(match[2]);
  return values;
}

// The metric `name` of those epochs that have it.
std::vector<double> metric_of(const std::vector<nlohmann::json>& epochs, const std::string& name) {
  std::vector<double> numbers;
  for (const nlohmann::json& epoch : epochs)
    for (const nlohmann::json& level : {epoch, epoch.value("communication", nlohmann::json())})
      if (level.contains(name) && level[name].is_number())
        numbers.push_back(level[name].get<double>());
  return numbers;
}

std::string in_decimals_of(const std::string& like, double number) {
  const std::size_t point = like.find('.');
  return fmt::format("{:.{}f}", number, point == like.npos ? 0 : like.size() - point - 1);
}

TEST_F(Log, KatibFindsEachMetricOnceAnEpochAndNoCarriageReturn) {
  for (const int ranks : {1, 2}) {
    const Outcome train =
        run(fmt::format("train --data data --model mlp --batch-size 20 --epochs 3 --ranks {} "
                        "--katib-metrics katib.json --out run{}",
                        ranks, ranks),
            "LC_ALL=de_DE.UTF-8");
    ASSERT_EQ(train.code, 0) << train.err;
    const std::string log = train.out + train.err;
    EXPECT_EQ(log.find('\r'), std::string::npos) << log;
    std::vector<nlohmann::json> epochs;
    for (const std::string& line :
         lines_of(slurp(folder_ / fmt::format("run{}", ranks) / "metrics.jsonl")))
      epochs.push_back(nlohmann::json::parse(line));
    const auto katib = lines_of(slurp(folder_ / "katib.json"));
    ASSERT_EQ(epochs.size(), 3u);
    ASSERT_EQ(katib.size(), 3u);
    const auto found = katib_values(log);
    for (const char* name : {"epoch", "loss", "accuracy", "val_loss", "val_accuracy"}) {
      ASSERT_EQ(found.count(name), 1u) << name << " in " << log;
      EXPECT_EQ(found.at(name).size(), 3u) << name << " in " << log;
      for (std::size_t epoch = 0; epoch < 3; ++epoch)
        EXPECT_EQ(std::stod(nlohmann::json::parse(katib[epoch])[name].get<std::string>()),
                  epochs[epoch][name].get<double>());
    }
    for (const auto& [name, values] : found) {
      const std::vector<double> numbers = metric_of(epochs, name);
      if (numbers.empty()) continue;  // no metric: NCCL_ALGO
      ASSERT_EQ(values.size(), numbers.size()) << name << " in " << log;
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(values[i], in_decimals_of(values[i], numbers[i])) << name << " in " << log;
    }
  }
}

// Each line of stdout begins with the time at which it was made.
TEST_F(Log, APipeShowsEachLineAtOnceAndAKillLosesNone) {
  mkfifo((folder_ / "train.out").c_str(), 0600);
  AnnulusProcess process(folder_, "train",
                         {ANNULUS_PROGRAM, "train", "--data", "data", "--model", "mlp",
                          "--batch-size", "60", "--epochs", "100000", "--out", "run"},
                         {});
  std::ifstream pipe(folder_ / "train.out");
  std::size_t lines = 0;
  for (std::string line; lines < 3 && std::getline(pipe, line); ++lines) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    std::tm made{};
    ASSERT_NE(strptime(line.c_str(), "%Y-%m-%dT%H:%M:%S", &made), nullptr) << line;
    EXPECT_LE(now.tv_sec - timegm(&made), 4) << "within a second, and room for a busy machine";
    EXPECT_NE(process.err().find("run folder: run"), std::string::npos) << process.err();
  }
  ASSERT_EQ(lines, 3u) << process.err();
  process.signal(SIGKILL);
  EXPECT_EQ(process.code(), 128 + SIGKILL);
  for (std::string line; std::getline(pipe, line);) lines += !pipe.eof();
  EXPECT_GE(lines, lines_of(slurp(folder_ / "run/metrics.jsonl")).size());
}

// The options that follow a run: --tensorboard is remembered, --katib-metrics is said again.
TEST_F(Log, AStoppedRunsFilesGoOnWhereItResumes) {
  constexpr std::size_t kEpochs = 40;
  const std::string epochs = std::to_string(kEpochs);
  AnnulusProcess process(folder_, "train",
                         {ANNULUS_PROGRAM, "train", "--data", "data", "--model", "mlp",
                          "--batch-size", "60", "--epochs", epochs, "--checkpoint-every", "20epoch",
                          "--tensorboard", "--katib-metrics", "katib.json", "--out", "run"},
                         {});
  const auto deadline = annulus::test::Clock::now() + std::chrono::seconds(60);
  while (lines_of(process.out()).size() < 3 && annulus::test::Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  process.signal(SIGTERM);
  ASSERT_EQ(process.code(), 143) << process.err();
  const Outcome resumed = run("train --resume run --katib-metrics katib.json");
  ASSERT_EQ(resumed.code, 0) << resumed.err;

  const auto katib = lines_of(slurp(folder_ / "katib.json"));
  ASSERT_EQ(katib.size(), kEpochs);
  for (std::size_t epoch = 0; epoch < kEpochs; ++epoch)
    EXPECT_EQ(nlohmann::json::parse(katib[epoch])["epoch"], std::to_string(epoch + 1));
  std::size_t events = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run")) {
    if (entry.path().extension() != ".annulus") continue;
    const std::string bytes = slurp(entry.path());
    for (std::size_t at = bytes.find("accuracy/val"); at != bytes.npos; ++events)
      at = bytes.find("accuracy/val", at + 1);
  }
  EXPECT_GT(events, kEpochs) << "each epoch, and those before the stop twice";
}

}  // namespace
