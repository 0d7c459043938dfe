// Rank 0's listener; see comm/control_listener.h.
#include "comm/control_listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "comm/console.h"
#include "comm/host_lookup.h"

namespace annulus::control {
namespace {

constexpr int longest_queue = 4096;  // the kernel takes less where net.core.somaxconn is smaller
constexpr std::size_t others = 128;  // descriptors of the rest of the program

std::string local_port_range() {
  std::ostringstream text;
  text << std::ifstream("/proc/sys/net/ipv4/ip_local_port_range").rdbuf();
  return text.str();
}

Socket take_over(int listener) {
  fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
  fcntl(listener, F_SETFD, FD_CLOEXEC);
  listen(listener, longest_queue);  // again, for the queue
  return Socket(listener);
}

}  // namespace

Socket listen_as_rank_0(const ControlOptions& options) {
  if (options.listener >= 0) return take_over(options.listener);
  const auto port = static_cast<std::uint16_t>(options.port);
  if (is_loopback(options.host)) return listen_on(options.host, port, longest_queue);
  if (const std::string warning = ephemeral_port_warning(port, local_port_range());
      !warning.empty())
    note("annulus: warning: " + warning + "\n");
  return listen_on("", port, longest_queue);
}

std::string ephemeral_port_warning(int port, std::string_view range) {
  std::istringstream numbers{std::string(range)};
  int first = 0, last = 0;
  if (!(numbers >> first >> last) || port < first || port > last) return "";
  return fmt::format(
      "port {} lies in the range {}-{} (net.ipv4.ip_local_port_range) from which the kernel takes "
      "outgoing connections' ports: it may be in use now and then; choose one outside by "
      "TF_WORKER_PORT or --rendezvous",
      port, first, last);
}

void make_room_for_connections(std::size_t least, std::size_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_max < least + others)
    throw UserError(ExitCode::usage,
                    fmt::format("rank 0 needs {} file descriptors for its peers, the limit is {}: "
                                "raise it (ulimit -Hn, the container's nofile limit)",
                                least + others, limit.rlim_max));
  const rlim_t enough = std::min<rlim_t>(limit.rlim_max, wanted + others);
  if (limit.rlim_cur >= enough) return;
  limit.rlim_cur = enough;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace annulus::control
