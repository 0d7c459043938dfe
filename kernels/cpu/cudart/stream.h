// Streams and the scheduler that runs them. An operation waits for tickets (stream, number) of
// other streams and for its predecessor in its own; an event is a ticket with a name. The mode
// decides who runs operations: the calling host thread at once (eager), a thread per stream
// (threads), or whichever host thread waits, in a seeded random order (shuffled). Every member is
// guarded by the runtime's mutex, which is released while an operation works.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "kernels/cpu/cudart/clock.h"
#include "kernels/cpu/cudart/memory.h"
#include "kernels/cpu/cudart/options.h"

namespace annulus::cpu {

class Capture;

// The first `number` operations of a stream.
struct Ticket {
  std::shared_ptr<CUstream_st> stream;
  std::uint64_t number = 0;

  bool done() const;
};

struct Operation {
  const char* call = "";
  std::vector<Ticket> after;
  std::function<void()> work;                        // may be empty
  std::vector<std::shared_ptr<Allocation>> written;  // whose red zones are looked at afterwards
};

using Lock = std::unique_lock<std::mutex>;

}  // namespace annulus::cpu

struct CUstream_st {
  int device = 0;
  unsigned int flags = 0;
  int priority = 0;
  std::uint32_t slot = 0;           // in vector clocks; also the stream's number in reports
  bool legacy = false;              // the device's default stream
  std::uint32_t captured_slot = 0;  // of the stream whose calls it replays, if it is a graph's lane

  std::deque<annulus::cpu::Operation> queue;
  std::uint64_t queued = 0;
  std::uint64_t completed = 0;
  bool busy = false;
  bool retired = false;  // gone once its work is done
  bool closed = false;
  std::condition_variable woken;  // its thread waits here, in threads mode

  annulus::cpu::VectorClock clock;
  std::shared_ptr<annulus::cpu::Capture> capture;  // while the stream is being captured
  std::vector<std::size_t> capture_frontier;       // nodes that the next captured one follows

  bool blocking() const { return (flags & cudaStreamNonBlocking) == 0; }
};

namespace annulus::cpu {

using Stream = CUstream_st;

class Scheduler {
 public:
  explicit Scheduler(std::mutex& mutex) : mutex_(mutex), random_(options().mode_seed) {}

  std::shared_ptr<Stream> create(int device, unsigned int flags, int priority);
  void destroy(Lock& lock, const std::shared_ptr<Stream>& stream);  // waits for its work
  void retire(Stream& stream);                                      // without waiting
  std::shared_ptr<Stream> find(cudaStream_t handle) const;          // null if it is not a stream
  const std::vector<std::shared_ptr<Stream>>& streams() const { return streams_; }

  Ticket submit(Lock& lock, const std::shared_ptr<Stream>& stream, Operation operation);
  void wait(Lock& lock, const Ticket& ticket);
  void advance(Lock& lock);  // shuffled: runs one operation, so that polling makes progress
  void stop(Lock& lock);     // at exit: lets running operations end and starts no more
  bool stopped() const { return stopped_; }

 private:
  struct FreeSlot {
    std::uint32_t slot;
    std::uint64_t count;  // calls of its former owners
  };

  bool is_runnable(const Stream& stream) const;
  void run_next(Lock& lock, Stream& stream);
  void run_at_once(Lock& lock, Stream& stream, Operation operation, std::uint64_t number);
  bool run_some_stream(Lock& lock);
  void serve(std::shared_ptr<Stream> stream);
  template <class Condition>
  void wait_until(Lock& lock, const Condition& reached);
  void finish(Stream& stream);
  void close(Stream& stream);
  void wake_runnable();

  std::mutex& mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Stream>> streams_;  // in order of creation
  std::vector<FreeSlot> free_slots_;
  std::uint32_t next_slot_ = 1;  // 0 is the host
  std::minstd_rand random_;
  unsigned int running_ = 0;
  unsigned int waiting_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace annulus::cpu
