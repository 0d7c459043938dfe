// The environment of the device under test, set before the first CUDA call reads it.
#include <cstdlib>
#include <string>

#include "tests/kernels/cpu/cudart/device_test.h"

namespace {

[[maybe_unused]] const bool environment_is_set = [] {
  setenv("ANNULUS_CPU_MEMORY", std::to_string(annulus::test::kDeviceMemory).c_str(), 1);
  setenv("ANNULUS_CPU_THREADS", "4", 1);
  setenv("ANNULUS_CPU_CHECK", "1", 1);
  setenv("ANNULUS_CPU_DEVICES", "2", 1);
  return true;
}();

}  // namespace
