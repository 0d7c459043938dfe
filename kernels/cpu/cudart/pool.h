// The thread pool of the CPU device. A call is cut into pieces by its shape; whoever is free claims
// the next piece, the caller included, so results cannot depend on the number of threads. Several
// callers may run at once; idle workers spin a few microseconds for the next call, then sleep.
// Called by launch.cpp and, through device.h and simt.h, by kernels and library calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <mutex>

namespace annulus::cpu {

class Pool {
 public:
  using Piece = void (*)(void* context, std::size_t i);

  explicit Pool(unsigned int threads);  // the caller counts as one
  Pool(const Pool&) = delete;

  // Returns when every piece has run; rethrows the first exception, after which no new piece
  // starts.
  void run(std::size_t pieces, Piece piece, void* context);
  unsigned int threads() const { return threads_; }

  static Pool& instance();  // ANNULUS_CPU_THREADS wide, never destroyed

 private:
  struct Job;

  void work();
  Job* claim_job();

  const unsigned int threads_;
  std::mutex mutex_;
  std::condition_variable job_posted_;
  std::condition_variable job_left_;
  std::list<Job*> jobs_;                   // with unclaimed pieces, oldest first
  std::atomic<std::uint64_t> posted_ = 0;  // jobs ever posted: what idle workers watch
  unsigned int sleepers_ = 0;
};

}  // namespace annulus::cpu
