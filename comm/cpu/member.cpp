// The boot id tells machines apart, the PID namespace the containers of one machine.
#include "comm/cpu/member.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace annulus::cpu::nccl {
namespace {

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

std::uint64_t process_space() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace

Text make_text(const std::string& text) {
  Text bytes{};
  text.copy(bytes.data(), bytes.size() - 1);
  return bytes;
}

Member describe_this_process(const Options& options, int device) {
  return {.host = make_text(options.host.empty() ? boot_id() : options.host),
          .process_space = process_space(),
          .process = getpid(),
          .device = device,
          .shares_memory = options.shared_memory ? 1 : 0};
}

bool share_host(const Member& a, const Member& b) {
  return a.host == b.host && a.process_space == b.process_space;
}

bool share_process(const Member& a, const Member& b) {
  return share_host(a, b) && a.process == b.process;
}

}  // namespace annulus::cpu::nccl
