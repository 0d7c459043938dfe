// The communicator: NCCL behind RAII, for one rank. Invariant: nothing here waits for ever. Made
// and ended without blocking and polled against a deadline; a lost peer, which the control channel
// reports, aborts it; wait() looks at the event, NCCL's asynchronous error and the channel in turn.
// Where the abort itself hangs, the process ends (exit_backstop.h). Called by engine/step
// (collectives) and engine/trainer (set-up, waits).
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/control.h"
#include "comm/exit_backstop.h"
#include "comm/flight_record.h"
#include "comm/registered_memory.h"
#include "kernels/cuda.h"

namespace annulus {

// What travels: fp32 as it is, or each element rounded to 16 bits, added in fp32 and rounded after
// each add.
enum class WireType { fp32, bf16, fp16 };

WireType parse_wire_type(const std::string& name);  // throws UserError (usage)

class Communicator {
 public:
  Communicator(int rank, int world, ControlChannel& control, const ControlOptions& deadlines);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Collective over all ranks, before any other call; the id comes from rank 0 through the channel.
  // Throws PeerError (rendezvous) if it is not done in time, DeviceError for NCCL's own errors.
  void join();

  int rank() const { return rank_; }
  int world() const { return world_; }
  ncclComm_t get() const { return link_->comm; }  // to be asked; collectives go through this class

  // Device memory for what is all-reduced every step, before join() or after.
  std::shared_ptr<void> allocate(std::size_t bytes);

  // Sums over ranks, in place, on the stream. The phase is for the flight record and for the
  // others, should this rank be lost.
  void all_reduce(Span<float> values, const Stream& stream, const Phase& phase);

  // The same, but 16 bits travel: the values are rounded into `wire` (as many elements), added
  // there and read back. Their sum must not overflow the type: divide before.
  void all_reduce_rounded(Span<float> values, WireType type, Span<std::uint16_t> wire,
                          const Stream& stream, const Phase& phase);

  // One call of any type, in place or not, that the flight record does not count: for benchmarks.
  struct PlainAllReduce {
    const void* input;
    void* output;
    std::size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
  };
  void all_reduce(const PlainAllReduce& plain, const Stream& stream);

  void broadcast(Span<float> values, const Stream& stream);  // from rank 0

  // Collectives in a graph: those that `queue` calls on captured streams, and a launch of the graph
  // that holds them, as that step's. NCCL has taken each one in when its call returns, so the
  // capture may end behind `queue`. The graph must be gone before this object, or abort(), as NCCL
  // waits for that.
  using Captured = std::vector<FlightRecord::Collective>;
  Captured captured(const std::function<void()>& queue) {
    return link_->flight_record.captured(queue);
  }
  void launch(const GraphExec& graph, const Stream& stream, const Captured& captured,
              std::size_t step);

  // Until the event is done. Throws PeerError when a peer is lost, DeviceError on NCCL's error.
  void wait(const Event& event);

  // The error of a lost peer or of NCCL, if there is one; cheap.
  void check();

  // What is queued ends without its result, and the others' collectives fail.
  void abort() { link_->freeze_and_abort(); }

  FlightRecord& flight_record() { return link_->flight_record; }

 private:
  void all_reduce(void* values, std::size_t count, ncclDataType_t type, const char* type_name,
                  const Stream& stream, const Phase& phase);
  template <class Call>
  void call(const char* name, Call&& nccl_call);
  [[noreturn]] void fail(ncclResult_t result, const char* name);
  ncclResult_t settle(ncclResult_t result, std::chrono::steady_clock::time_point deadline);
  bool finalize();

  // What the channel's thread needs when a peer is lost; it may outlive this object by a moment.
  struct Link {
    ncclResult_t state();     // NCCL's asynchronous error
    void look();              // which collectives are done
    void freeze_and_abort();  // any thread, once; unblocks whatever waits in NCCL

    int device = 0;
    ncclComm_t comm = nullptr;
    std::mutex calls;  // held inside NCCL's calls, so that abort does not pull comm away
    std::atomic<bool> aborted{false};
    FlightRecord flight_record;
    RegisteredMemory memory;
    ExitBackstop backstop;
  };

  int rank_, world_;
  ControlChannel& control_;
  std::chrono::milliseconds rendezvous_timeout_, exit_patience_;
  std::shared_ptr<Link> link_ = std::make_shared<Link>();
};

}  // namespace annulus
