// Collectives between ranks of one host. Small messages go through slots with one synchronisation;
// of large ones each rank reduces its own slice, reading and writing the buffers of all, with two.
// Invariant: sums run in rank order, ((g0 + g1) + g2) + …, so bits do not depend on count,
// alignment or who reduces what. Made by communicator.cpp.
#pragma once

#include <memory>
#include <vector>

#include "comm/cpu/control_area.h"
#include "comm/cpu/failure.h"
#include "comm/cpu/monitor.h"
#include "comm/cpu/peer_memory.h"
#include "comm/cpu/transport.h"

namespace annulus::cpu::nccl {

class SharedMemoryTransport : public Transport {
 public:
  SharedMemoryTransport(std::shared_ptr<ControlArea> area, const Members& members, int rank,
                        Monitor* monitor, Failure& failure);

  const char* name() const override { return "shared memory"; }
  void run(const Collective& collective) override;
  void leave() override { area_->rank(rank_).left = 1; }

 private:
  void post(const Collective& collective);
  bool wait_for_all(Signal RankArea::*signal, std::uint32_t number);
  bool gives_up_on(int peer, const Signal& signal, std::uint32_t number);
  bool calls_agree(const Call& mine);
  const Posted& posted(int rank, const Call& call) const;

  void finish_small(const Collective& collective);
  void finish_large(const Collective& collective);
  void reduce(const Collective& collective, const std::vector<const std::byte*>& inputs,
              const std::vector<std::byte*>& outputs, std::size_t begin, std::size_t end) const;

  const std::shared_ptr<ControlArea> area_;
  PeerMemory peers_;
  const int rank_, world_;
  const Patience patience_;
  Monitor* monitor_;  // null with one rank
  Failure& failure_;
};

}  // namespace annulus::cpu::nccl
