// What the host gives to ranks: cores, and shared memory for NCCL's segments.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/doctor/bytes.h"
#include "engine/doctor/checks.h"

namespace annulus::doctor {
namespace {

// NCCL makes a segment of about 10 MB for each peer that a rank reaches through host memory; in its
// rings and trees a rank has two of them on its host (NVIDIA/nccl issues 290, 525).
std::uint64_t shared_memory_need(int ranks) {
  constexpr std::uint64_t kSegment = std::uint64_t{10} << 20;
  const int peers = std::clamp(ranks - 1, 0, 2);
  return static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(peers) * kSegment;
}

constexpr const char* kMoreSharedMemory =
    "mount an emptyDir with medium: Memory there (docker: --shm-size)";

Finding space(const SharedMemoryFacts& facts, int ranks, bool on_gpus) {
  const std::uint64_t need = shared_memory_need(ranks);
  Finding finding{.name = facts.path,
                  .fact = fmt::format("{} free of {}", in_words(facts.free), in_words(facts.size))};
  if (need > 0)
    finding.fact += fmt::format(", NCCL needs {} for {} ranks on GPUs (about 10 MB a peer)",
                                in_words(need), ranks);
  if (facts.free >= need) return finding;
  finding.state = on_gpus ? State::error : State::warning;
  if (!on_gpus) finding.fact += ", the CPU device nothing";
  finding.fix = kMoreSharedMemory;
  return finding;
}

Finding left_over(const SharedMemoryFacts::Segment& segment, const std::string& path) {
  return {.state = State::warning,
          .name = segment.name,
          .fact = fmt::format("{} in {}, left by a run that goes on or has died",
                              in_words(segment.bytes), path),
          .fix = fmt::format("where no run goes on: rm {}/{}", path, segment.name)};
}

std::vector<SharedMemoryFacts::Segment> read_segments(const std::string& path) {
  std::vector<SharedMemoryFacts::Segment> segments;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(path, unreadable)) {
    const std::string name = entry.path().filename();
    std::error_code gone;
    const std::uintmax_t bytes = entry.file_size(gone);
    if (name.starts_with("nccl-") && !gone) segments.push_back({name, bytes});
  }
  return segments;
}

}  // namespace

std::vector<Finding> check_cores(const Cores& cores, int ranks) {
  const unsigned int usable = usable_cores(cores);
  const auto allowed = static_cast<unsigned int>(cores.allowed.size());
  Finding finding{.name = "cores",
                  .fact = fmt::format("{} of {} may be used", usable, cores.online)};
  if (usable < allowed)
    finding.fact += fmt::format(" (the cgroup's CPU quota: {:g})", cores.quota);
  else if (allowed < static_cast<unsigned int>(cores.online))
    finding.fact += " (affinity mask)";
  if (usable < static_cast<unsigned int>(ranks)) {
    finding.state = State::warning;
    finding.fact += fmt::format(", {} ranks share them", ranks);
    finding.fix = "give the container a core for each rank";
  }
  return {finding};
}

SharedMemoryFacts read_shared_memory(const std::string& path) {
  SharedMemoryFacts facts{.path = path};
  struct statvfs file_system {};
  if (statvfs(path.c_str(), &file_system) != 0) {
    facts.problem = std::strerror(errno);
    return facts;
  }
  facts.free = file_system.f_bavail * file_system.f_frsize;
  facts.size = file_system.f_blocks * file_system.f_frsize;
  facts.segments = read_segments(path);
  return facts;
}

std::vector<Finding> check_shared_memory(const SharedMemoryFacts& facts, int ranks, bool on_gpus) {
  if (!facts.problem.empty())
    return {{.state = on_gpus ? State::error : State::warning,
             .name = facts.path,
             .fact = "cannot be read: " + facts.problem,
             .fix = kMoreSharedMemory}};
  std::vector<Finding> findings = {space(facts, ranks, on_gpus)};
  for (const SharedMemoryFacts::Segment& segment : facts.segments)
    findings.push_back(left_over(segment, facts.path));
  return findings;
}

}  // namespace annulus::doctor
