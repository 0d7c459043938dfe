// The program as a process of a test: started with arguments and settings, signalled, waited for
// with a limit. Used by run_of_ranks.h.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/files.h"

namespace annulus::test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

inline std::string last_line(const std::string& text) {
  const std::string trimmed = text.substr(0, text.find_last_not_of('\n') + 1);
  return trimmed.substr(trimmed.rfind('\n') + 1);
}

class AnnulusProcess {
 public:
  // `command` before the program's own arguments may be empty, or mpirun and its options. Settings
  // are "NAME=value". Output goes to files in the folder, where the process also runs.
  AnnulusProcess(const std::filesystem::path& folder, const std::string& name,
                 std::vector<std::string> command, const std::vector<std::string>& settings)
      : out_path_(folder / (name + ".out")), err_path_(folder / (name + ".err")) {
    std::vector<char*> pointers;
    for (std::string& argument : command) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the test itself be killed
    for (const char* name : {"ANNULUS_DATA", "EPOCHS", "ANNULUS_CPU_MODE"}) unsetenv(name);
    for (const std::string& setting : settings) putenv(strdup(setting.c_str()));
    if (chdir(folder.c_str()) != 0) _exit(98);
    dup2(open(out_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(err_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    execvp(pointers[0], pointers.data());
    _exit(99);
  }
  ~AnnulusProcess() {
    if (!reaped_) {
      signal(SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  AnnulusProcess(const AnnulusProcess&) = delete;
  AnnulusProcess& operator=(const AnnulusProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const {
    if (!reaped_) kill(pid_, number);
  }
  std::string out() const { return slurp(out_path_); }
  std::string err() const { return slurp(err_path_); }

  bool ended() {
    int status = 0;
    if (!reaped_ && waitpid(pid_, &status, WNOHANG) == pid_) {
      reaped_ = true;
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return reaped_;
  }

  // Its exit code, or 128 and the signal that ended it. One that does not end is a failure.
  int code(std::chrono::seconds limit = 120s) {
    const auto deadline = Clock::now() + limit;
    while (!ended() && Clock::now() < deadline) std::this_thread::sleep_for(5ms);
    if (reaped_) return code_;
    ADD_FAILURE() << "process " << pid_ << " does not end: " << err();
    return -1;
  }

 private:
  std::filesystem::path out_path_, err_path_;
  pid_t pid_ = -1;
  bool reaped_ = false;
  int code_ = -1;
};

}  // namespace annulus::test
