// Runs a program (`launched`, if no other is named) beside the test binary and collects what it
// says.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace annulus::test {

using namespace std::chrono_literals;

struct Outcome {
  int code = -1;  // 128 + signal where it was killed
  std::string out, err;

  std::string last_line() const {
    const std::string text = err.substr(0, err.find_last_not_of('\n') + 1);
    const std::size_t before = text.rfind('\n');
    return before == std::string::npos ? text : text.substr(before + 1);
  }
};

class Launched {
 public:
  // The program with these arguments; `setting`s ("NAME=value") are added to its environment.
  explicit Launched(std::vector<std::string> arguments,
                    const std::vector<std::string>& settings = {},
                    const std::string& name = "launched")
      : out_path_(path_for("out")), err_path_(path_for("err")) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    arguments.insert(arguments.begin(), program.string());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    for (const std::string& setting : settings) putenv(strdup(setting.c_str()));
    dup2(open(out_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(err_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    execv(program.c_str(), pointers.data());
    _exit(99);
  }
  ~Launched() {
    if (!reaped_) outcome();
    std::filesystem::remove(out_path_);
    std::filesystem::remove(err_path_);
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  void signal(int number) const { kill(pid_, number); }
  std::string out() const { return read_all(out_path_); }
  std::string err() const { return read_all(err_path_); }

  // Its end; one that does not come in a minute is a failure, and it is killed.
  Outcome outcome() {
    int status = 0;
    for (int tries = 0; waitpid(pid_, &status, WNOHANG) == 0; ++tries) {
      if (tries == 6000) {
        ADD_FAILURE() << "the launcher does not end";
        kill(pid_, SIGKILL);
      }
      std::this_thread::sleep_for(10ms);
    }
    reaped_ = true;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out(), err()};
  }

  // Waits until `text` holds `part` as often as `times`.
  static bool wait_for(const std::function<std::string()>& text, const std::string& part,
                       int times = 1) {
    for (int tries = 0; tries < 3000; ++tries) {
      const std::string now = text();
      int found = 0;
      for (std::size_t at = 0; (at = now.find(part, at)) != std::string::npos; ++at) ++found;
      if (found >= times) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

 private:
  static std::filesystem::path path_for(const char* what) {
    static int count = 0;
    return std::filesystem::temp_directory_path() /
           ("annulus_launched_" + std::to_string(getpid()) + "_" + std::to_string(count++) + what);
  }
  static std::string read_all(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::filesystem::path out_path_, err_path_;
  pid_t pid_ = -1;
  bool reaped_ = false;
};

inline Outcome run_launched(std::vector<std::string> arguments,
                            const std::vector<std::string>& settings = {}) {
  return Launched(std::move(arguments), settings).outcome();
}

// The numbers behind "pid ".
inline std::vector<pid_t> pids_in(const std::string& text) {
  std::vector<pid_t> pids;
  for (std::size_t at = 0; (at = text.find("pid ", at)) != std::string::npos; ++at)
    pids.push_back(static_cast<pid_t>(std::stol(text.substr(at + 4))));
  return pids;
}

// True once no process of this number runs (a zombie nobody reaps counts as gone).
inline bool gone(pid_t pid) {
  for (int tries = 0; tries < 1000; ++tries) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    if (!std::getline(file, stat) || stat.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

}  // namespace annulus::test
