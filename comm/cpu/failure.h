// What went wrong with a communicator. Invariant: the first error stays, and from then on every
// wait of the communicator ends. Set by stream work, by the monitor and by ncclCommAbort.
#pragma once

#include <nccl.h>

#include <atomic>
#include <mutex>
#include <string>

namespace annulus::cpu::nccl {

class Failure {
 public:
  // False if there was an error already.
  bool set(ncclResult_t result, const std::string& message);

  ncclResult_t result() const { return result_.load(std::memory_order_acquire); }
  bool happened() const { return result() != ncclSuccess; }
  std::string message() const;

 private:
  std::atomic<ncclResult_t> result_ = ncclSuccess;
  mutable std::mutex mutex_;
  std::string message_;
};

// The words behind the newest error of the process, for calls that have no communicator.
void remember_error(const std::string& message);
std::string remembered_error();

}  // namespace annulus::cpu::nccl
