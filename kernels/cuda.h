// Thin RAII over the CUDA runtime: Stream, Event, Buffer, PinnedBuffer, GraphExec. No policy, no
// hidden state; `get()` gives the raw handle. Used by the engine, tests and benches.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/check.h"
#include "kernels/span.h"

namespace annulus {

class Event;

// A non-blocking stream. Destroying it waits for its work.
class Stream {
 public:
  Stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() {
    if (stream_) cudaStreamDestroy(stream_);
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;

  cudaStream_t get() const { return stream_; }
  void synchronize() const { CUDA_CHECK(cudaStreamSynchronize(stream_)); }
  inline void wait(const Event& event) const;  // work queued later runs after the event
  inline bool capturing() const;               // into a graph

 private:
  cudaStream_t stream_ = nullptr;
};

// A point in a stream. `timing` events can be subtracted; the others are cheaper.
class Event {
 public:
  explicit Event(bool timing = false) {
    CUDA_CHECK(
        cudaEventCreateWithFlags(&event_, timing ? cudaEventDefault : cudaEventDisableTiming));
  }
  ~Event() {
    if (event_) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  cudaEvent_t get() const { return event_; }
  void record(const Stream& stream) const { CUDA_CHECK(cudaEventRecord(event_, stream.get())); }
  // For the host to wait for and to subtract: as record(), but in a capture a node that records the
  // event at each launch of the graph, where record() only orders the captured streams.
  inline void stamp(const Stream& stream) const;
  void synchronize() const { CUDA_CHECK(cudaEventSynchronize(event_)); }
  float milliseconds_since(const Event& start) const {
    float ms = 0;
    CUDA_CHECK(cudaEventElapsedTime(&ms, start.event_, event_));
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

void Stream::wait(const Event& event) const {
  CUDA_CHECK(cudaStreamWaitEvent(stream_, event.get(), 0));
}

bool Stream::capturing() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  CUDA_CHECK(cudaStreamIsCapturing(stream_, &status));
  return status != cudaStreamCaptureStatusNone;
}

void Event::stamp(const Stream& stream) const {
  CUDA_CHECK(cudaEventRecordWithFlags(
      event_, stream.get(), stream.capturing() ? cudaEventRecordExternal : cudaEventRecordDefault));
}

// Work that was captured, ready to be launched as one. Destroying it does not wait for launches.
class GraphExec {
 public:
  GraphExec() = default;
  explicit GraphExec(cudaGraph_t graph) { CUDA_CHECK(cudaGraphInstantiate(&exec_, graph, 0)); }
  ~GraphExec() {
    if (exec_) cudaGraphExecDestroy(exec_);
  }
  GraphExec(GraphExec&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}
  GraphExec& operator=(GraphExec&& other) noexcept {
    std::swap(exec_, other.exec_);
    return *this;
  }

  void launch(const Stream& stream) const { CUDA_CHECK(cudaGraphLaunch(exec_, stream.get())); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

// The capture of what is queued on a stream, and on those that come to wait for it, until finish().
// Other threads may do meanwhile what CUDA forbids to this one: wait, allocate.
class Capture {
 public:
  explicit Capture(const Stream& origin) : origin_(origin) {
    CUDA_CHECK(cudaStreamBeginCapture(origin.get(), cudaStreamCaptureModeThreadLocal));
  }
  // Not finished: nothing is kept. A capture that was misused needs no join.
  ~Capture() {
    if (finished_) return;
    cudaGraph_t graph = nullptr;
    cudaStreamQuery(origin_.get());
    cudaStreamEndCapture(origin_.get(), &graph);
    cudaGetLastError();
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  GraphExec finish() {
    finished_ = true;
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamEndCapture(origin_.get(), &graph));
    GraphExec exec(graph);
    cudaGraphDestroy(graph);
    return exec;
  }

 private:
  const Stream& origin_;
  bool finished_ = false;
};

// Device memory for `count` elements, uninitialised.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t count) : count_(count) {
    if (count == 0) return;
    const cudaError_t status = cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T));
    if (status == cudaErrorMemoryAllocation) throw_out_of_device_memory(count * sizeof(T));
    CUDA_CHECK(status);
  }
  explicit Buffer(const std::vector<T>& host) : Buffer(host.size()) { upload(host); }
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      data_ = std::exchange(other.data_, nullptr);
      count_ = std::exchange(other.count_, 0);
    }
    return *this;
  }

  std::size_t size() const { return count_; }
  Span<T> span() const { return {data_, count_}; }
  Span<const T> cspan() const { return {data_, count_}; }

  // Blocking copies, for set-up and tests; the step copies on streams.
  void upload(const std::vector<T>& host) {
    if (count_) CUDA_CHECK(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice));
  }
  std::vector<T> download() const {
    std::vector<T> host(count_);
    if (count_) CUDA_CHECK(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return host;
  }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  void reset() {
    if (data_) cudaFree(data_);
    data_ = nullptr;
  }
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// Page-locked host memory: the only host memory that asynchronous copies may touch.
template <class T>
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t count) : count_(count) {
    CUDA_CHECK(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(T)));
  }
  ~PinnedBuffer() {
    if (data_) cudaFreeHost(data_);
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  PinnedBuffer& operator=(PinnedBuffer&&) = delete;

  T& operator[](std::size_t i) const { return data_[i]; }
  T* data() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace annulus
