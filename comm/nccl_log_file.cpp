// See nccl_log_file.h.
#include "comm/nccl_log_file.h"

#include <unistd.h>

#include <cstdlib>

#include "comm/host_name.h"

namespace annulus {

std::string short_host_name() {
  const std::string name = host_name();
  return name.substr(0, name.find('.'));
}

std::string nccl_log_file() {
  const char* pattern = std::getenv("NCCL_DEBUG_FILE");
  std::string path;
  for (const char* at = pattern ? pattern : ""; *at; ++at) {
    const char next = *at == '%' ? at[1] : '\0';
    if (next == 'h') path += short_host_name();
    if (next == 'p') path += std::to_string(getpid());
    if (next == 'h' || next == 'p')
      ++at;
    else
      path += *at;
  }
  return path;
}

}  // namespace annulus
