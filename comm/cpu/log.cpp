// One line an open file: no state, and a reader sees every line whole. See log.h.
#include "comm/cpu/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "comm/nccl_log_file.h"

namespace annulus::cpu::nccl {
namespace {

bool wanted() {
  const char* level = std::getenv("NCCL_DEBUG");
  return level != nullptr && (std::string(level) == "INFO" || std::string(level) == "TRACE");
}

}  // namespace

void log_info(int device, const std::string& text) {
  if (!wanted()) return;
  const std::string line = fmt::format("{}:{}:{} [{}] NCCL INFO {}\n", short_host_name(), getpid(),
                                       gettid(), device, text);
  const std::string path = nccl_log_file();
  std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "ae");
  if (file == nullptr) return;  // as NCCL, which goes on without
  std::fputs(line.c_str(), file);
  path.empty() ? std::fflush(file) : std::fclose(file);
}

}  // namespace annulus::cpu::nccl
