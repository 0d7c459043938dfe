// See console.h.
#include "comm/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "comm/terminal.h"
#include "kernels/check.h"

namespace annulus {

void note(const std::string& text) { std::fputs(text.c_str(), stderr); }

void report_error(const std::string& message) {
  note(fmt::format("{} {}\n", paint("annulus:", "1;31", look_of(STDERR_FILENO)), message));
}

void print_line(const std::string& line) {
  if (std::puts(line.c_str()) < 0 || std::fflush(stdout) != 0)
    throw UserError(ExitCode::storage, fmt::format("stdout: cannot be written: {}; free space "
                                                   "where it goes, or send it elsewhere",
                                                   std::strerror(errno)));
}

void keep_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", O_RDWR);  // takes the lowest free number
  for (const int number : {SIGXFSZ, SIGPIPE}) std::signal(number, SIG_IGN);
}

}  // namespace annulus
