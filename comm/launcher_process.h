// One process that the launcher starts: this program again, in a process group of its own, which
// the kernel kills when the launcher's thread ends. Invariant: it is reaped once, and what it
// started itself is killed before. Called by comm/launcher.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "comm/launcher_lines.h"
#include "comm/socket.h"

namespace annulus {

struct ProcessPlan {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value", all of it
  std::vector<int> pinned_to;            // empty: not pinned
  int inherited = -1;                    // a descriptor it keeps under the same number
  bool own_stdout = false;               // its stdout is ours; else it is forwarded like stderr
  std::string prefix;                    // of forwarded lines
  SaidErrors* said = nullptr;            // shared by all ranks
};

// How a process ended.
struct Ending {
  int code = 0;    // its exit code
  int signal = 0;  // or the signal that killed it
};

class Process {
 public:
  explicit Process(const ProcessPlan& plan);  // starts it

  bool running() const { return !ending_; }
  const std::optional<Ending>& ending() const { return ending_; }
  bool stopped() const;  // by a signal, so that only SIGKILL ends it
  void signal(int number) const;
  void reap();  // when it has ended: kills what it left behind, and stores the ending

  // Its output: descriptors for poll (-1 once at the end), and what to do when one is readable.
  int output(std::size_t index) const { return outputs_[index].pipe.descriptor(); }
  static constexpr std::size_t outputs = 2;  // stderr, stdout
  void forward(std::size_t index);           // what is there now, up to 64 KiB
  void forward_rest();                       // all that is there, and ends an open line

 private:
  struct Output {
    Socket pipe;  // Socket owns any descriptor
    LineForwarder lines;
  };
  pid_t pid_ = -1;
  std::optional<Ending> ending_;
  std::vector<Output> outputs_;
};

}  // namespace annulus
