// A run of `annulus train` on several ranks, started by its launcher or each by hand, in a folder
// of its own; and the checks that hold however it ended: nothing is left, no file is half written,
// flight records can be read. Used by faults_test, refused_test and
// other_launchers_test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "comm/launcher_environment.h"
#include "tests/engine/free_port.h"
#include "tests/engine/leftovers.h"

namespace annulus::test {

enum class Start { by_hand, by_launcher, by_command };

class RunOfRanks {
 public:
  using Words = std::vector<std::string>;

  // `of_rank` adds arguments to those of one rank, where they are started by hand.
  struct Options {
    int ranks = 2;
    Start start = Start::by_hand;
    Words command;  // what starts the ranks, before the program
    Words arguments, settings;
    std::function<void(int rank, Words& arguments, Words& settings)> of_rank;
  };

  explicit RunOfRanks(Options options) : options_(std::move(options)) {
    std::filesystem::create_directories(folder_ / "tmp");
    if (options_.start != Start::by_hand) {
      Words command = options_.command;
      const Words own = options_.start == Start::by_command
                            ? train({})
                            : train({"--ranks", std::to_string(options_.ranks)});
      command.insert(command.end(), own.begin(), own.end());
      processes_.emplace_back(folder_, "launcher", command, settings());
      return;
    }
    const std::string rendezvous = "127.0.0.1:" + std::to_string(free_port());
    const std::string world = std::to_string(options_.ranks);
    for (int rank = 0; rank < options_.ranks; ++rank) {
      const std::string number = std::to_string(rank);
      Words command = train({"--rank", number, "--world-size", world, "--local-rank", number,
                             "--local-world-size", world, "--rendezvous", rendezvous});
      Words mine = settings();
      if (options_.of_rank) options_.of_rank(rank, command, mine);
      processes_.emplace_back(folder_, "rank" + number, command, mine);
    }
  }
  ~RunOfRanks() {
    for (const pid_t pid : processes_with(tag_)) kill(pid, SIGKILL);
    processes_.clear();
    if (testing::Test::HasFailure())
      std::cerr << "the run's folder stays: " << folder_ << '\n';
    else
      std::filesystem::remove_all(folder_);
  }

  std::filesystem::path run_folder() const { return folder_ / "run"; }
  AnnulusProcess& launcher() { return processes_.at(0); }
  AnnulusProcess& rank(int rank) { return processes_.at(rank); }

  // Rank 0 makes the run folder after the rendezvous and before NCCL is set up.
  void wait_for_run_folder() { wait_for_file("config.json"); }
  void wait_for_file(const std::filesystem::path& in_run_folder) {
    wait_for([&] { return std::filesystem::exists(run_folder() / in_run_folder); },
             in_run_folder.c_str());
  }
  void wait_for_epochs(long epochs) {
    wait_for(
        [&] {
          const std::string lines = processes_.at(0).out();
          return std::count(lines.begin(), lines.end(), '\n') >= epochs;
        },
        "lines of epochs");
  }

  // Also a rank that the launcher started; from now on time is taken, and sockets are remembered.
  void signal(int rank, int number) {
    for (const std::string& inode : sockets_of(processes_with(tag_))) sockets_.insert(inode);
    signalled_ = Clock::now();
    kill(pid_of(rank), number);
  }
  void signal_launcher(int number) {
    signalled_ = Clock::now();
    for (const pid_t pid : processes_with(tag_))
      if (variable_of(pid, launcher_environment::rank).empty() &&
          (options_.command.empty() || pid != launcher().pid()))
        kill(pid, number);
  }
  double seconds_since_signal() const {
    return std::chrono::duration<double>(Clock::now() - signalled_).count();
  }

  // What holds after the end of all: stopped ranks that were started by hand are the caller's. Nor
  // has the device's checker found anything.
  void expect_nothing_left() {
    for (const AnnulusProcess& process : processes_)
      EXPECT_EQ(process.err().find("annulus cpu device"), std::string::npos) << process.err();
    wait_for([&] { return processes_with(tag_).empty(); }, "the end of every process");
    EXPECT_EQ(sockets_left(sockets_), std::vector<std::string>{});
    EXPECT_EQ(shared_memory_names(), shared_memory_before_);
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "tmp"))
      ADD_FAILURE() << "left behind: " << entry.path();
  }

  void expect_whole_files() const {
    const std::string metrics = slurp(run_folder() / "metrics.jsonl");
    EXPECT_TRUE(metrics.empty() || metrics.back() == '\n') << metrics;
    std::istringstream lines(metrics);
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    if (std::filesystem::exists(run_folder() / "model.safetensors"))
      expect_whole_weights(slurp(run_folder() / "model.safetensors"));
  }

  std::filesystem::path flight_record_path(int rank) const {
    return run_folder() / ("flight-rank" + std::to_string(rank) + ".json");
  }

  // The record of a rank that ended badly, checked: consecutive, at most 64, done before issued.
  // Returns the first collective that was not done; null where all were, or none was issued.
  nlohmann::json unfinished_collective(int rank) const {
    const auto record = nlohmann::json::parse(slurp(flight_record_path(rank)), nullptr, false);
    EXPECT_TRUE(record.is_object()) << flight_record_path(rank);
    if (!record.is_object()) return {};
    EXPECT_EQ(record["rank"], rank);
    EXPECT_FALSE(record["reason"].get<std::string>().empty());
    const nlohmann::json& collectives = record["collectives"];
    const std::size_t last = collectives.empty() ? 0 : collectives.back()["sequence"].get<int>();
    EXPECT_EQ(collectives.size(), std::min<std::size_t>(64, last));
    nlohmann::json unfinished;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      EXPECT_EQ(collectives[i]["sequence"], last - collectives.size() + 1 + i);
      const bool done = collectives[i]["state"] == "done";
      EXPECT_TRUE(!done || unfinished.is_null()) << "done after one that is not: " << i;
      if (!done && unfinished.is_null()) unfinished = collectives[i];
    }
    return unfinished;
  }

 private:
  template <class Condition>
  static void wait_for(Condition condition, const char* what) {
    const auto deadline = Clock::now() + 120s;
    while (!condition() && Clock::now() < deadline) std::this_thread::sleep_for(2ms);
    EXPECT_TRUE(condition()) << what << " did not come";
  }

  Words train(Words own) const {
    Words command{ANNULUS_PROGRAM, "train", "--out", run_folder().string()};
    command.insert(command.end(), own.begin(), own.end());
    command.insert(command.end(), options_.arguments.begin(), options_.arguments.end());
    return command;
  }
  Words settings() const {
    Words all{"ANNULUS_DATA=synthetic", "ANNULUS_CPU_CHECK=1", tag_};
    all.insert(all.end(), options_.settings.begin(), options_.settings.end());
    all.push_back("TMPDIR=" + (folder_ / "tmp").string());
    return all;
  }

  pid_t pid_of(int rank) const {
    if (options_.start == Start::by_hand) return processes_.at(rank).pid();
    const auto deadline = Clock::now() + 60s;
    while (Clock::now() < deadline)
      for (const pid_t pid : processes_with(tag_))
        if (variable_of(pid, launcher_environment::rank) == std::to_string(rank)) return pid;
    ADD_FAILURE() << "rank " << rank << " does not run";
    return -1;
  }

  // The header's length, the header, and as many bytes as it says.
  static void expect_whole_weights(const std::string& bytes) {
    std::uint64_t header = 0;
    ASSERT_GE(bytes.size(), sizeof header);
    std::memcpy(&header, bytes.data(), sizeof header);
    ASSERT_GE(bytes.size(), sizeof header + header);
    const auto tensors = nlohmann::json::parse(bytes.substr(sizeof header, header), nullptr, false);
    ASSERT_TRUE(tensors.is_object());
    std::size_t end = 0;
    for (const auto& [name, tensor] : tensors.items())
      if (tensor.contains("data_offsets"))
        end = std::max(end, tensor["data_offsets"][1].get<std::size_t>());
    EXPECT_EQ(bytes.size(), sizeof header + header + end);
  }

  static std::string unique_name() {
    static int count = 0;
    return "annulus-run-" + std::to_string(getpid()) + "-" + std::to_string(count++);
  }

  Options options_;
  std::string name_ = unique_name();
  std::string tag_ = "ANNULUS_TEST_RUN=" + name_;
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / name_;
  std::set<std::string> shared_memory_before_ = shared_memory_names();
  std::deque<AnnulusProcess> processes_;
  std::set<std::string> sockets_;
  Clock::time_point signalled_ = Clock::now();
};

}  // namespace annulus::test
