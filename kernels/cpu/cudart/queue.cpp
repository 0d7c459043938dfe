// A call is checked, captured or queued, in this order; see queue.h.
#include "kernels/cpu/cudart/queue.h"

#include <utility>

#include "kernels/cpu/cudart/graph.h"

namespace annulus::cpu {
namespace {

// The legacy stream and the blocking streams of its device wait for each other.
std::vector<std::shared_ptr<Stream>> implicitly_before(Runtime& runtime, const Stream& stream) {
  std::vector<std::shared_ptr<Stream>> before;
  if (!stream.blocking()) return before;
  for (const auto& other : runtime.scheduler.streams()) {
    if (other.get() != &stream && other->device == stream.device && other->blocking() &&
        (stream.legacy || other->legacy)) {
      before.push_back(other);
    }
  }
  return before;
}

std::vector<std::shared_ptr<Allocation>> written_by(Runtime& runtime,
                                                    std::span<const Access> accesses) {
  std::vector<std::shared_ptr<Allocation>> written;
  for (const Access& access : accesses) {
    if (!access.write || access.data == nullptr) continue;
    if (auto allocation = runtime.allocations.find(access.data); allocation && !allocation->pinned)
      written.push_back(std::move(allocation));
  }
  return written;
}

}  // namespace

cudaError_t queue_call(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream,
                       const char* name, std::span<const Access> accesses,
                       std::function<void()> work) {
  if (checking()) {
    const cudaError_t status = runtime.checker.check_bounds(name, accesses);
    if (status != cudaSuccess) return status;
  }
  if (stream->capture) {
    return stream->capture->add(*stream,
                                {name, {accesses.begin(), accesses.end()}, std::move(work)});
  }
  if (const cudaError_t status = refuse_implicit_capture(runtime, *stream); status != cudaSuccess)
    return status;
  run_call(runtime, lock, stream, name, accesses, std::move(work));
  return cudaSuccess;
}

Ticket run_call(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream,
                const char* name, std::span<const Access> accesses, std::function<void()> work,
                std::vector<Ticket> after) {
  Operation operation{
      .call = name, .after = std::move(after), .work = std::move(work), .written = {}};
  for (const auto& before : implicitly_before(runtime, *stream)) {
    if (before->queued > before->completed) operation.after.push_back({before, before->queued});
    if (checking()) stream->clock.join(before->clock);
  }
  if (checking()) {
    runtime.checker.enter(name, *stream, accesses);
    operation.written = written_by(runtime, accesses);
  }
  return runtime.scheduler.submit(lock, stream, std::move(operation));
}

void wait_for_stream(Runtime& runtime, Lock& lock, const std::shared_ptr<Stream>& stream) {
  const VectorClock clock = stream->clock;
  runtime.scheduler.wait(lock, {stream, stream->queued});
  runtime.checker.host_waits(clock);
}

void wait_for_device(Runtime& runtime, Lock& lock, int device) {
  const auto streams = runtime.scheduler.streams();
  for (const auto& stream : streams) {
    if (stream->device == device) wait_for_stream(runtime, lock, stream);
  }
}

cudaError_t enqueue(cudaStream_t handle, const char* what, std::span<const Access> accesses,
                    std::function<void()> work) {
  return api([&](Runtime& runtime) -> cudaError_t {
    Lock lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    return queue_call(runtime, lock, stream, what, accesses, std::move(work));
  });
}

bool is_device_memory(const void* data, std::size_t bytes) {
  Runtime& runtime = Runtime::instance();
  const Lock lock(runtime.mutex);
  const auto allocation = runtime.allocations.find(data);
  return allocation && !allocation->pinned && !allocation->freed &&
         allocation->contains(data, bytes);
}

}  // namespace annulus::cpu
