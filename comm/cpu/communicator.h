// One rank's communicator behind a ncclComm_t: made over the bootstrap, then a transport, a monitor
// and the queueing of its collectives on streams. Invariant: collectives run one at a time in the
// order of the calls, and none waits once there is a failure. Called by nccl_api.cpp and group.cpp;
// queued work holds a reference.
#pragma once

#include <nccl.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "comm/cpu/bootstrap_wire.h"
#include "comm/cpu/failure.h"
#include "comm/cpu/monitor.h"
#include "comm/cpu/transport.h"
#include "comm/interfaces.h"

namespace annulus::cpu::nccl {

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(const IdContents& id, int world, int rank, int device);
  ~Communicator();

  // Collective. What goes wrong is this communicator's failure, and returned.
  ncclResult_t connect();
  void connect_in_background();  // meanwhile the state is ncclInProgress

  ncclResult_t state() const;
  std::string error_text() const { return failure_.message(); }
  int world() const { return world_; }
  int rank() const { return rank_; }
  int device() const { return device_; }
  const Nonce& nonce() const { return id_.nonce; }
  const char* transport_name() const;  // null until connected

  // Queues the collective on the stream; its call number is given when it runs.
  ncclResult_t issue(Collective collective, cudaStream_t stream);

  void finish();  // waits until it is connected and its queued collectives are done
  void leave();   // tells the peers that this is the regular end
  void abort();   // ends what runs; returns when no collective touches a buffer any more

 private:
  void make_transport();
  void log_links(const Interface& interface, const Members& members, bool shared_memory) const;
  void run(Collective collective);
  void order_behind_last_stream(cudaStream_t stream);
  std::shared_ptr<void> count_pending(cudaStream_t stream);
  ncclResult_t enqueue_on(cudaStream_t stream, const Collective& collective,
                          const std::shared_ptr<void>& pending);

  const IdContents id_;
  const int world_, rank_, device_;
  Failure failure_;
  std::atomic<bool> connected_ = false;
  std::unique_ptr<Monitor> monitor_;  // null with one rank
  std::unique_ptr<Transport> transport_;

  std::mutex running_;  // held while a collective runs
  std::uint64_t calls_ = 0;

  std::mutex queueing_;
  cudaStream_t last_stream_ = nullptr;
  bool has_last_stream_ = false;
  std::map<cudaStream_t, int> pending_;  // collectives that are queued or run, by stream
  // Held by each collective that is captured, as long as its graph lives.
  const std::shared_ptr<void> in_graphs_ = std::make_shared<char>();
};

}  // namespace annulus::cpu::nccl
