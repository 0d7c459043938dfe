// Runs a part of the calling test program again in a process with another number of threads, and
// hands back what it printed: the CPU device reads ANNULUS_CPU_THREADS once, so one process cannot
// compare. Used by tests that hold bits against the number of threads.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace annulus::test {

// FNV-1a over the bytes, to compare many numbers in one line.
template <class T>
std::uint64_t digest(const std::vector<T>& values, std::uint64_t hash = 0xcbf29ce484222325u) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

// The line "bits: …" that the disabled test `name` prints when this program runs it with `threads`.
inline std::string bits_with_threads(const std::string& name, int threads) {
  const std::string command = "ANNULUS_CPU_THREADS=" + std::to_string(threads) + " '" +
                              std::filesystem::read_symlink("/proc/self/exe").string() +
                              "' --gtest_also_run_disabled_tests --gtest_filter=" + name;
  FILE* output = popen(command.c_str(), "r");
  if (!output) throw std::runtime_error("cannot run " + command);
  std::string bits;
  char line[256];
  while (std::fgets(line, sizeof line, output))
    if (std::string(line).starts_with("bits: ")) bits += line;
  if (pclose(output) != 0 || bits.empty()) throw std::runtime_error("failed: " + command);
  return bits;
}

}  // namespace annulus::test
