// Device memory that is all-reduced every step: allocated by NCCL and registered with the
// communicator where the library can (NCCL 2.19), so that a transport reaches it without a copy of
// its own; plain device memory otherwise. Invariant: what is registered is deregistered before it
// is freed and before its communicator goes. A registration that NCCL refuses costs speed alone.
// NCCL user guide, "User Buffer Registration". Owned by a Communicator, which takes one call at a
// time.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <map>

namespace annulus {

class RegisteredMemory {
 public:
  // Before or after join(). Throws UserError (device) where there is not enough.
  void* allocate(std::size_t bytes);
  void free(void* data);  // null: nothing

  void join(ncclComm_t communicator);  // registers all, and what is allocated from now on
  void leave();                        // deregisters all
  // The communicator is gone, and the process about to end: nothing is freed any more, as what was
  // queued may still write it, and freeing may wait for that.
  void abort() { aborted_ = true; }

 private:
  struct Piece {
    std::size_t bytes = 0;
    void* registration = nullptr;
  };

  void enter(void* data, Piece& piece) const;
  void withdraw(Piece& piece) const;

  ncclComm_t communicator_ = nullptr;  // null: not joined
  bool aborted_ = false;
  std::map<void*, Piece> pieces_;
};

}  // namespace annulus
