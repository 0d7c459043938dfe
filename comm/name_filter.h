// NCCL's way of choosing by name, for interfaces (NCCL_SOCKET_IFNAME) and adapters (NCCL_IB_HCA): a
// comma-separated list of prefixes, "=" in front makes them exact, "^" in front of that excludes
// them. A pattern may end in ":port", which a name with a port must then have. NCCL user guide,
// "Environment variables". Called by interfaces.cpp and infiniband.cpp.
#pragma once

#include <string>
#include <vector>

namespace annulus {

class NameFilter {
 public:
  explicit NameFilter(const std::string& text);

  bool takes(const std::string& name) const;  // "eth0", "mlx5_0:1"

 private:
  struct Pattern {
    std::string name, port;  // port: empty takes any
  };
  static Pattern split(const std::string& text);
  bool fits(const Pattern& pattern, const Pattern& candidate) const;

  bool excludes_ = false, exact_ = false;
  std::vector<Pattern> patterns_;  // none: all are listed
};

}  // namespace annulus
