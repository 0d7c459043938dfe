// What a run of several processes leaves behind on this machine: processes (found by a variable in
// their environment), sockets (by inode), names in /dev/shm, files where temporary ones belong.
// Other runs at the same time do not disturb it. Used by run_of_ranks.h.
#pragma once

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/engine/annulus_process.h"

namespace annulus::test {

// Processes that live and have "NAME=value" in their environment.
inline std::vector<pid_t> processes_with(const std::string& setting) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (('\0' + slurp(entry.path() / "environ")).find('\0' + setting + '\0') != std::string::npos)
      found.push_back(std::stoi(name));
  }
  return found;
}

// The value of a variable in a process's environment; "" where it is not set.
inline std::string variable_of(pid_t pid, const std::string& name) {
  const std::string all = '\0' + slurp("/proc/" + std::to_string(pid) + "/environ");
  const std::size_t at = all.find('\0' + name + '=');
  if (at == std::string::npos) return "";
  return all.c_str() + at + name.size() + 2;
}

inline std::set<std::string> sockets_of(const std::vector<pid_t>& pids) {
  std::set<std::string> inodes;
  for (const pid_t pid : pids) {
    std::error_code error;
    const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string target = std::filesystem::read_symlink(entry.path(), error);
      if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
    }
  }
  return inodes;
}

// Those of the inodes that the kernel still lists.
inline std::vector<std::string> sockets_left(const std::set<std::string>& inodes) {
  std::vector<std::string> left;
  for (const char* table : {"tcp", "tcp6", "unix"}) {
    std::istringstream words(slurp(std::filesystem::path("/proc/self/net") / table));
    for (std::string word; words >> word;)
      if (inodes.contains(word)) left.push_back(std::string(table) + " socket " + word);
  }
  return left;
}

inline std::set<std::string> shared_memory_names() {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("annulus") || name.starts_with("nccl")) names.insert(name);
  }
  return names;
}

}  // namespace annulus::test
