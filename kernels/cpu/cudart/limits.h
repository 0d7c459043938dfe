// Launch limits of the CPU device: those of a current GPU, so that what runs here fits there.
// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", 9.0.
#pragma once

namespace annulus::cpu {

struct Extent {
  int x, y, z;
};

inline constexpr int kWarp = 32;
inline constexpr int kMaxBlockThreads = 1024;
inline constexpr Extent kMaxBlock{1024, 1024, 64};
inline constexpr Extent kMaxGrid{2147483647, 65535, 65535};
inline constexpr int kMaxStaticShared = 48 << 10;
inline constexpr int kMaxDynamicShared = 227 << 10;

}  // namespace annulus::cpu
