// Runs a program (`launched`, if no other is named) beside the test binary and collects what it
// says, in memory. It dies with the test, so that a test that is ended leaves nothing.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/socket.h"

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
      : out_(memfd_create("out", MFD_CLOEXEC)), err_(memfd_create("err", MFD_CLOEXEC)) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    arguments.insert(arguments.begin(), program.string());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    for (const std::string& setting : settings) putenv(strdup(setting.c_str()));
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out_.descriptor(), STDOUT_FILENO);
    dup2(err_.descriptor(), STDERR_FILENO);
    execv(program.c_str(), pointers.data());
    _exit(99);
  }
  ~Launched() {
    if (!reaped_) outcome();
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  void signal(int number) const { kill(pid_, number); }
  std::string out() const { return read_all(out_); }
  std::string err() const { return read_all(err_); }

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
  static std::string read_all(const Socket& file) {
    struct stat state {};
    fstat(file.descriptor(), &state);
    std::string text(static_cast<std::size_t>(state.st_size), '\0');
    const ssize_t count = pread(file.descriptor(), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    return text;
  }

  Socket out_, err_;  // Socket owns any descriptor
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
