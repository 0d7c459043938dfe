// Two tables behind one lock; see registrations.h.
#include "comm/cpu/registrations.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "comm/cpu/error.h"
#include "kernels/cpu/cudart/device.h"

namespace annulus::cpu::nccl {
namespace {

struct Registration {
  const Communicator* communicator;
  const std::byte* begin;
  std::size_t bytes;

  bool holds(const void* data) const {
    const auto* byte = static_cast<const std::byte*>(data);
    return byte >= begin && byte < begin + bytes;
  }
};

std::mutex mutex;
std::set<const void*> allocated;
std::map<void*, Registration> registrations;  // by handle
std::deque<char> handles;                     // a byte each, so that none comes twice

[[noreturn]] void report_misuse(const std::string& words) {
  report("registered memory", words);
  throw NcclError(ncclInvalidUsage, words);
}

void require_success(cudaError_t status) {
  if (status != cudaSuccess) throw NcclError(ncclUnhandledCudaError, cudaGetErrorString(status));
}

void require_allocated(const void* data) {
  const std::lock_guard lock(mutex);
  if (!allocated.contains(data))
    report_misuse(
        fmt::format("ncclMemFree({}): that is not what ncclMemAlloc gave, or it was freed "
                    "before",
                    data));
  for (const auto& [handle, registration] : registrations)
    if (registration.holds(data))
      report_misuse(
          fmt::format("ncclMemFree({}): rank {}'s communicator still has it registered; "
                      "call ncclCommDeregister first",
                      data, registration.communicator->rank()));
  allocated.erase(data);
}

}  // namespace

void* allocate(std::size_t bytes) {
  void* data = nullptr;
  require_success(cudaMalloc(&data, bytes));
  const std::lock_guard lock(mutex);
  allocated.insert(data);
  return data;
}

void free_allocated(void* data) {
  require_allocated(data);
  require_success(cudaFree(data));
}

void* register_memory(const Communicator& communicator, void* data, std::size_t bytes) {
  if (bytes == 0 || !is_device_memory(data, bytes))
    throw NcclError(ncclInvalidArgument, "what is registered is not device memory");
  const std::lock_guard lock(mutex);
  void* const handle = &handles.emplace_back();
  registrations[handle] = {&communicator, static_cast<const std::byte*>(data), bytes};
  return handle;
}

void deregister_memory(const Communicator& communicator, void* handle) {
  const std::lock_guard lock(mutex);
  const auto found = registrations.find(handle);
  if (found == registrations.end() || found->second.communicator != &communicator)
    report_misuse(
        fmt::format("ncclCommDeregister({}): rank {}'s communicator has no such "
                    "registration, or it was deregistered before",
                    handle, communicator.rank()));
  const Registration registration = found->second;
  registrations.erase(found);
  if (!is_device_memory(registration.begin, registration.bytes))
    report_misuse(
        fmt::format("ncclCommDeregister({}): the {} bytes at {} were freed while they "
                    "were registered",
                    handle, registration.bytes, static_cast<const void*>(registration.begin)));
}

void forget_registrations(const Communicator& communicator) {
  const std::lock_guard lock(mutex);
  std::erase_if(registrations,
                [&](const auto& entry) { return entry.second.communicator == &communicator; });
}

}  // namespace annulus::cpu::nccl
