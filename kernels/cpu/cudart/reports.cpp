// Reports go to stderr at once, and are kept for the tests.
#include "kernels/cpu/cudart/reports.h"

#include <cstdio>
#include <mutex>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudart/options.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

namespace annulus::cpu {
namespace {

constexpr std::size_t kKept = 1000;

struct Kept {
  std::mutex mutex;
  std::vector<Report> reports;
  std::size_t count = 0;
};

Kept& kept() {
  static Kept& value = *new Kept;
  return value;
}

}  // namespace

void report(const char* kind, const std::string& message) {
  {
    const std::lock_guard lock(kept().mutex);
    std::fprintf(stderr, "annulus cpu device: %s: %s\n", kind, message.c_str());
    if (++kept().count <= kKept) kept().reports.push_back({kind, message});
  }
  if (options().check == Check::abort) Runtime::instance().fail_devices(cudaErrorAssert);
}

std::vector<Report> reports() {
  const std::lock_guard lock(kept().mutex);
  return kept().reports;
}

std::size_t report_count() {
  const std::lock_guard lock(kept().mutex);
  return kept().count;
}

void clear_reports() {
  const std::lock_guard lock(kept().mutex);
  kept().reports.clear();
  kept().count = 0;
}

void recover_devices() {
  Runtime& runtime = Runtime::instance();
  {
    Lock lock(runtime.mutex);
    for (const auto& device : runtime.devices) wait_for_device(runtime, lock, device->index);
  }
  runtime.fail_devices(cudaSuccess);
  cudaGetLastError();
}

bool checking() { return options().check != Check::off; }

}  // namespace annulus::cpu
