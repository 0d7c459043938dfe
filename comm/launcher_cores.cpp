// Affinity masks, cgroup quotas and shares of cores; see comm/launcher_cores.h. Sources: sched(7),
// the kernel's admin-guide/cgroup-v2 ("cpu.max") and scheduler/sched-bwc (v1).
#include "comm/launcher_cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace annulus {
namespace {

using std::filesystem::path;

std::string first_line(const path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

double quotient(const std::string& quota, const std::string& period) {
  const double microseconds = std::strtod(quota.c_str(), nullptr);  // "max" and "-1": none
  const double of = std::strtod(period.c_str(), nullptr);
  return microseconds > 0 && of > 0 ? microseconds / of : 0;
}

double quota_v2(const path& folder) {
  const std::string line = first_line(folder / "cpu.max");  // "150000 100000"
  const std::size_t space = line.find(' ');
  return space == std::string::npos ? 0 : quotient(line.substr(0, space), line.substr(space + 1));
}

double quota_v1(const path& folder) {
  return quotient(first_line(folder / "cpu.cfs_quota_us"),
                  first_line(folder / "cpu.cfs_period_us"));
}

double tighter(double a, double b) { return a == 0 || (b != 0 && b < a) ? b : a; }

// From `group`, as /proc/self/cgroup names it, up to the hierarchy's root. Inside a container the
// name may be that of the host: then only the root is there.
double tightest(const path& hierarchy, const path& group, double (*quota_of)(const path&)) {
  double quota = quota_of(hierarchy);
  for (path part = group.relative_path(); !part.empty(); part = part.parent_path())
    quota = tighter(quota, quota_of(hierarchy / part));
  return quota;
}

bool has_controller(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

double cgroup_quota(const path& root) {
  const path mounts = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup");
  double quota = 0;
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/a/b", "0::/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty())
      quota = tighter(quota, tightest(mounts, group, quota_v2));
    else if (has_controller(controllers, "cpu"))
      quota = tighter(quota, tightest(mounts / "cpu", group, quota_v1));
  }
  return quota;
}

Cores cores_of_this_process() {
  Cores cores;
  cores.online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  cores.quota = cgroup_quota("/");
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
  for (int core = 0; core < (known ? CPU_SETSIZE : cores.online); ++core)
    if (!known || CPU_ISSET(core, &mask)) cores.allowed.push_back(core);
  return cores;
}

unsigned int usable_cores(const Cores& cores) {
  const auto allowed = static_cast<unsigned int>(cores.allowed.size());
  const auto within_quota = cores.quota == 0 ? allowed : static_cast<unsigned int>(cores.quota);
  return std::max(1U, std::min(allowed, within_quota));
}

std::vector<CoreShare> share_cores(const Cores& cores, int ranks) {
  const std::size_t count = cores.allowed.size(), parts = static_cast<std::size_t>(ranks);
  const bool given_to_us = count < static_cast<std::size_t>(cores.online);
  const bool quota_binds = cores.quota != 0 && cores.quota < static_cast<double>(count);
  const bool pin = given_to_us && count >= parts && !quota_binds;

  std::vector<CoreShare> shares(parts);
  for (std::size_t rank = 0; rank < parts; ++rank) {
    CoreShare& share = shares[rank];
    if (pin) {
      share.pinned_to.assign(cores.allowed.begin() + rank * count / parts,
                             cores.allowed.begin() + (rank + 1) * count / parts);
      share.threads = static_cast<unsigned int>(share.pinned_to.size());
    } else {
      share.threads = std::max(1U, usable_cores(cores) / static_cast<unsigned int>(ranks));
    }
  }
  return shares;
}

}  // namespace annulus
