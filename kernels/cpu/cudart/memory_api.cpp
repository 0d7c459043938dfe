// Entry points of memory: allocation, copies, fills.
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "kernels/cpu/cudart/graph.h"
#include "kernels/cpu/cudart/memory_share.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"

using namespace annulus::cpu;

namespace {

enum class Place { device, pinned, pageable };

Place place_of(Runtime& runtime, const void* data) {
  const auto allocation = runtime.allocations.find(data);
  if (allocation == nullptr) return Place::pageable;
  return allocation->pinned ? Place::pinned : Place::device;
}

bool may_be(Place place, bool device_wanted) { return (place == Place::device) == device_wanted; }

// A copy whose direction is at odds with its pointers; cudaMemcpyDefault takes what the pointers
// say.
bool has_wrong_direction(cudaMemcpyKind kind, Place to, Place from) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !may_be(to, false) || !may_be(from, false);
    case cudaMemcpyHostToDevice:
      return !may_be(to, true) || !may_be(from, false);
    case cudaMemcpyDeviceToHost:
      return !may_be(to, false) || !may_be(from, true);
    case cudaMemcpyDeviceToDevice:
      return !may_be(to, true) || !may_be(from, true);
    case cudaMemcpyDefault:
      return false;
  }
  return true;
}

struct Copy {
  const char* name;
  void* to;
  const void* from;
  std::size_t bytes;
  cudaMemcpyKind kind;
  bool async;
};

cudaError_t copy(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream,
                 const Copy& copy) {
  if (copy.bytes == 0) return cudaSuccess;
  if (copy.to == nullptr || copy.from == nullptr) return cudaErrorInvalidValue;
  const Place to = place_of(runtime, copy.to), from = place_of(runtime, copy.from);
  if (has_wrong_direction(copy.kind, to, from)) {
    report("host pointer",
           fmt::format("{} of {} bytes from {} to {}: one of them is not on the side "
                       "that the copy's direction says",
                       copy.name, copy.bytes, copy.from, copy.to));
    return cudaErrorInvalidValue;
  }
  const bool pageable = to == Place::pageable || from == Place::pageable;
  if (copy.async && pageable && checking()) {
    report("pageable copy",
           fmt::format("{} of {} bytes {} pageable host memory is not asynchronous: "
                       "use cudaMallocHost",
                       copy.name, copy.bytes, to == Place::pageable ? "to" : "from"));
  }

  std::vector<Access> accesses;
  if (to != Place::pageable) accesses.push_back({copy.to, copy.bytes, true});
  if (from != Place::pageable) accesses.push_back({copy.from, copy.bytes, false});
  std::function<void()> work = [to = copy.to, from = copy.from, bytes = copy.bytes] {
    std::memmove(to, from, bytes);
  };
  if (copy.async && from == Place::pageable && stream->capture == nullptr) {
    // CUDA has read pageable memory when the call returns.
    const auto* bytes = static_cast<const std::byte*>(copy.from);
    work = [to = copy.to, staged = std::vector<std::byte>(bytes, bytes + copy.bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    };
  }
  const cudaError_t status =
      queue_call(runtime, lock, stream, copy.name, accesses, std::move(work));
  if (status != cudaSuccess)
    return status == cudaErrorIllegalAddress ? cudaErrorInvalidValue : status;
  const bool host_waits =
      !copy.async ? to != Place::device || from != Place::device : to == Place::pageable;
  if (host_waits && stream->capture == nullptr) {
    wait_for_stream(runtime, lock, stream);
    return runtime.device(stream->device).sticky_error;
  }
  return cudaSuccess;
}

cudaError_t fill(const char* name, void* data, int value, size_t bytes, cudaStream_t handle) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    const Access access{data, bytes, true};
    const cudaError_t status = queue_call(runtime, lock, stream, name, {&access, 1},
                                          [=] { std::memset(data, value, bytes); });
    return status == cudaErrorIllegalAddress ? cudaErrorInvalidValue : status;
  });
}

cudaError_t free_memory(const char* name, void* data, bool pinned) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (data == nullptr) return cudaSuccess;
    Lock lock(runtime.mutex);
    const auto allocation = runtime.allocations.find(data);
    if (allocation && allocation->freed) {
      report("double free",
             fmt::format("{} of {}, which has been freed", name, allocation->describe()));
      return cudaErrorInvalidValue;
    }
    if (!allocation || allocation->base != data || allocation->pinned != pinned) {
      report("bad free", fmt::format("{} of {}, which {} did not return", name, data,
                                     pinned ? "cudaMallocHost" : "cudaMalloc"));
      return cudaErrorInvalidValue;
    }
    if (const cudaError_t refused = refuse_while_capturing(runtime); refused != cudaSuccess)
      return refused;
    if (checking()) runtime.checker.check_free(name, *allocation);
    for (const auto& device : runtime.devices) wait_for_device(runtime, lock, device->index);
    if (pinned) {
      free_pinned(*allocation, runtime.allocations);
      return cudaSuccess;
    }
    for (const auto& device : runtime.devices) {
      if (device->memory.owns(data)) device->memory.free(*allocation);
    }
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaMalloc(void** data, size_t bytes) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (data == nullptr) return cudaErrorInvalidValue;
    *data = nullptr;
    if (bytes == 0) return cudaSuccess;
    Lock lock(runtime.mutex);
    if (const cudaError_t refused = refuse_while_capturing(runtime); refused != cudaSuccess)
      return refused;
    const auto allocation = runtime.current_device().memory.allocate(bytes);
    if (allocation == nullptr) return cudaErrorMemoryAllocation;
    *data = allocation->base;
    return cudaSuccess;
  });
}

cudaError_t cudaFree(void* data) { return free_memory("cudaFree", data, false); }

cudaError_t cudaMallocHost(void** data, size_t bytes) {
  return cudaHostAlloc(data, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned int flags) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (data == nullptr || (flags & ~7u) != 0) return cudaErrorInvalidValue;
    *data = nullptr;
    if (bytes == 0) return cudaSuccess;
    Lock lock(runtime.mutex);
    *data = allocate_pinned(bytes, runtime.allocations)->base;
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* data) { return free_memory("cudaFreeHost", data, true); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (free == nullptr || total == nullptr) return cudaErrorInvalidValue;
    const Lock lock(runtime.mutex);
    *free = runtime.current_device().memory.available();
    *total = runtime.current_device().memory.limit();
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  return api([&](Runtime& runtime) -> cudaError_t {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    const Lock lock(runtime.mutex);
    void* address = const_cast<void*>(data);
    const auto allocation = runtime.allocations.find(data);
    if (allocation == nullptr || allocation->freed) {
      *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
    } else if (allocation->pinned) {
      *attributes = {cudaMemoryTypeHost, current_device_index(), address, address};
    } else {
      *attributes = {cudaMemoryTypeDevice, -1, address, nullptr};
      for (const auto& device : runtime.devices) {
        if (device->memory.owns(data)) attributes->device = device->index;
      }
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    return copy(runtime, lock, runtime.current_device().legacy_stream,
                {"cudaMemcpy", to, from, bytes, kind, false});
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    return copy(runtime, lock, stream, {"cudaMemcpyAsync", to, from, bytes, kind, true});
  });
}

cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  return fill("cudaMemset", data, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  return fill("cudaMemsetAsync", data, value, bytes, stream);
}

namespace annulus::cpu {

std::optional<SharedRange> shared_range(const void* data) {
  Runtime& runtime = Runtime::instance();
  const Lock lock(runtime.mutex);
  const auto allocation = runtime.allocations.find(data);
  if (allocation == nullptr || allocation->pinned || allocation->freed) return std::nullopt;
  for (const auto& device : runtime.devices) {
    if (!device->memory.owns(data)) continue;
    if (device->memory.file() < 0) return std::nullopt;
    return SharedRange{device->memory.file(), device->memory.file_offset(data),
                       allocation->bytes - allocation->offset(data)};
  }
  return std::nullopt;
}

}  // namespace annulus::cpu
