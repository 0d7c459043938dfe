// See releases.h.
#include "engine/k8s/releases.h"

#include <algorithm>

namespace annulus::k8s {

Releases Releases::of(const std::vector<std::string>& names) {
  unsigned bits = 0;
  for (std::size_t i = 0; i < kReleases.size(); ++i)
    if (std::ranges::find(names, kReleases[i]) != names.end()) bits |= 1U << i;
  return Releases(bits);
}

std::vector<std::string> Releases::names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kReleases.size(); ++i)
    if ((bits_ >> i & 1U) != 0) names.emplace_back(kReleases[i]);
  return names;
}

}  // namespace annulus::k8s
