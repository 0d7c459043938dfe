// fork, exec, pipes and waiting; see comm/launcher_process.h. Between fork and exec only calls that
// are safe in the child of a process with threads.
#include "comm/launcher_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "kernels/check.h"

namespace annulus {
namespace {

struct Pipe {
  Socket read_end, write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw UserError(
        ExitCode::internal,
        fmt::format("cannot make a pipe for a rank's output: {}; see ulimit -n", strerror(errno)));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {Socket(ends[0]), Socket(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

cpu_set_t mask_of(const std::vector<int>& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : cores) CPU_SET(core, &mask);
  return mask;
}

// All that the child needs, made before fork.
struct Child {
  pid_t parent;
  std::vector<char*> arguments, environment;
  cpu_set_t mask;
  bool pinned;
  int inherited, standard_input, standard_output, standard_error;
};

[[noreturn]] void become(const Child& child) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent)
    _exit(static_cast<int>(ExitCode::peer_lost));  // it is gone already
  dup2(child.standard_input, STDIN_FILENO);
  if (child.standard_output >= 0) dup2(child.standard_output, STDOUT_FILENO);
  dup2(child.standard_error, STDERR_FILENO);
  if (child.inherited >= 0) fcntl(child.inherited, F_SETFD, 0);
  if (child.pinned) sched_setaffinity(0, sizeof child.mask, &child.mask);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve("/proc/self/exe", child.arguments.data(), child.environment.data());
  constexpr std::string_view failure = "annulus: cannot run /proc/self/exe: is /proc mounted?\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, failure.data(), failure.size());
  _exit(static_cast<int>(ExitCode::internal));
}

}  // namespace

Process::Process(const ProcessPlan& plan) {
  Pipe error = make_pipe(), output;
  if (!plan.own_stdout) output = make_pipe();
  const Socket nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Child child{getpid(),
                    pointers_to(plan.arguments),
                    pointers_to(plan.environment),
                    mask_of(plan.pinned_to),
                    !plan.pinned_to.empty(),
                    plan.inherited,
                    nothing.descriptor(),
                    output.write_end.descriptor(),
                    error.write_end.descriptor()};
  pid_ = fork();
  if (pid_ == 0) become(child);
  if (pid_ < 0)
    throw UserError(ExitCode::internal,
                    fmt::format("cannot start a process for a rank: {}; see ulimit -u and the "
                                "cgroup's pids.max",
                                strerror(errno)));
  setpgid(pid_, pid_);  // here too, whoever of the two comes first
  outputs_.push_back(
      {std::move(error.read_end), LineForwarder(plan.prefix, STDERR_FILENO, *plan.said)});
  outputs_.push_back(
      {std::move(output.read_end), LineForwarder(plan.prefix, STDERR_FILENO, *plan.said)});
}

bool Process::stopped() const {
  siginfo_t info{};
  return running() &&
         waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

void Process::signal(int number) const {
  if (running()) kill(-pid_, number);
}

void Process::reap() {
  siginfo_t info{};
  if (!running() ||
      waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_)
    return;
  kill(-pid_, SIGKILL);  // its group, while the number is still its own
  int status = 0;
  waitpid(pid_, &status, 0);
  ending_ = WIFSIGNALED(status) ? Ending{0, WTERMSIG(status)} : Ending{WEXITSTATUS(status), 0};
}

void Process::forward(std::size_t index) {
  Output& output = outputs_[index];
  std::array<char, 64 << 10> bytes;
  const ssize_t count = read(output.pipe.descriptor(), bytes.data(), bytes.size());
  if (count > 0) {
    output.lines.append({bytes.data(), static_cast<std::size_t>(count)});
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    output.lines.finish();
    output.pipe.close();
  }
}

void Process::forward_rest() {
  for (std::size_t index = 0; index < outputs; ++index) {
    Output& output = outputs_[index];
    std::array<char, 64 << 10> bytes;
    for (ssize_t count = 0;
         (count = read(output.pipe.descriptor(), bytes.data(), bytes.size())) > 0;)
      output.lines.append({bytes.data(), static_cast<std::size_t>(count)});
    output.lines.finish();
    output.pipe.close();
  }
}

}  // namespace annulus
