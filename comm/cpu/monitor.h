// Watches a rank's neighbours in the ring while its communicator lives, so that every rank learns
// of a lost one within milliseconds, also where no collective is under way. What one neighbour says
// goes on to the other: the first failure travels round the ring. Owned by the communicator.
#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "comm/cpu/call.h"
#include "comm/cpu/failure.h"
#include "comm/cpu/ring_links.h"

namespace annulus::cpu::nccl {

// What travels on the control connections; plain bytes.
struct Notice {
  enum class Kind : std::int32_t { bye, lost, mismatch };
  Kind kind = Kind::bye;
  std::int32_t rank = 0;  // that is lost, or made `call`
  std::int32_t other_rank = 0;
  Call call, other_call;
};

class Monitor {
 public:
  // `silent`: lost ranks are not told.
  Monitor(RingLink links, int rank, int world, bool silent, Failure& failure);
  ~Monitor();  // without leave() before: the neighbours take this rank for lost

  // The regular end.
  void leave();

  // Tells all ranks, this one too, that two ranks made different calls.
  void tell_mismatch(int rank, const Call& call, int other_rank, const Call& other_call);

 private:
  void watch();
  void take(const Socket& from, int neighbour, const Socket& to, bool& open);
  void act_on(const Notice& notice);
  void send(const Socket& to, const Notice& notice);

  RingLink links_;
  const int rank_, world_;
  const bool silent_;
  Failure& failure_;
  Socket wake_up_;  // an eventfd that ends the thread
  std::mutex sending_;
  std::thread thread_;
};

}  // namespace annulus::cpu::nccl
