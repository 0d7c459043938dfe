// The releases of Kubeflow Trainer that a finding is about. Used by the rules and the report.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace annulus::k8s {

// "later": what comes after 2.3.0, where issue 3779 of kubeflow/trainer is mended.
inline constexpr std::array<const char*, 5> kReleases = {"2.0", "2.1", "2.2", "2.3", "later"};

// A set of them, a bit each in the order above.
class Releases {
 public:
  constexpr Releases() = default;
  static constexpr Releases between(std::size_t first, std::size_t last) {
    return Releases((2U << last) - (1U << first));
  }
  static constexpr Releases all() { return between(0, kReleases.size() - 1); }
  static Releases of(const std::vector<std::string>& names);  // of kReleases

  constexpr Releases operator&(Releases other) const { return Releases(bits_ & other.bits_); }
  constexpr bool none() const { return bits_ == 0; }
  std::vector<std::string> names() const;

 private:
  explicit constexpr Releases(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};

inline constexpr Releases kFrom20 = Releases::all();
inline constexpr Releases kFrom21 = Releases::between(1, 4);
inline constexpr Releases kFrom22 = Releases::between(2, 4);
inline constexpr Releases kFrom23 = Releases::between(3, 4);
inline constexpr Releases kUpTo21 = Releases::between(0, 1);
inline constexpr Releases kUpTo22 = Releases::between(0, 2);
inline constexpr Releases kUpTo23 = Releases::between(0, 3);

}  // namespace annulus::k8s
