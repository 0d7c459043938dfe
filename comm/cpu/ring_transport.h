// Collectives over TCP: reduce-scatter and all-gather round a ring (Patarasuk & Yuan 2009), and a
// broadcast that is passed on. Invariant: chunks and their order are those of
// kernels/sum_ranks.h (SumOrder::ring), so bits are a function of ranks and count alone. Made by
// communicator.cpp.
#pragma once

#include "comm/cpu/failure.h"
#include "comm/cpu/monitor.h"
#include "comm/cpu/ring_stream.h"
#include "comm/cpu/transport.h"

namespace annulus::cpu::nccl {

class RingTransport : public Transport {
 public:
  // `silent`: a neighbour that is gone only hangs the collective.
  RingTransport(RingLink link, int rank, int world, bool silent, Monitor* monitor,
                Failure& failure);

  const char* name() const override { return "tcp"; }
  void run(const Collective& collective) override;

 private:
  struct Chunk {
    std::size_t begin, end;  // bytes
  };

  void add_all_reduce(const Collective& collective, RingTransfer& transfer) const;
  void add_broadcast(const Collective& collective, RingTransfer& transfer) const;
  Chunk chunk(const Collective& collective, int k) const;
  bool agrees(const Call& mine, const Call& of_previous);
  void lose_neighbour();

  RingStream stream_;
  const int rank_, world_;
  const bool silent_;
  Monitor* monitor_;  // null with one rank
  Failure& failure_;
};

}  // namespace annulus::cpu::nccl
