// A collective is written down as what goes out and what comes in, behind the call itself, which
// every rank compares with that of the rank before: if any two differ, two neighbours do.
#include "comm/cpu/ring_transport.h"

#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "comm/cpu/reduce.h"
#include "kernels/sum_ranks.h"

namespace annulus::cpu::nccl {
namespace {

// The monitor knows the reason for a closed connection, or will in a moment.
constexpr std::chrono::milliseconds kReasonLimit{500};
constexpr std::chrono::milliseconds kLook{5};

void copy_own(const Collective& collective) {
  if (collective.output != collective.input && collective.call.count > 0)
    std::memcpy(collective.output, collective.input, collective.bytes());
}

}  // namespace

RingTransport::RingTransport(RingLink link, int rank, int world, bool silent, Monitor* monitor,
                             Failure& failure)
    : stream_(std::move(link.next), std::move(link.previous)),
      rank_(rank),
      world_(world),
      silent_(silent),
      monitor_(monitor),
      failure_(failure) {}

void RingTransport::run(const Collective& collective) {
  if (world_ == 1) return copy_own(collective);
  Call of_previous;
  RingTransfer transfer{.outgoing = {},
                        .incoming = {},
                        .lead = sizeof(Call),
                        .preamble = sizeof(Call),
                        .element_bytes = collective.element_bytes()};
  transfer.outgoing.push_back({reinterpret_cast<const std::byte*>(&collective.call), sizeof(Call)});
  transfer.incoming.push_back({.data = reinterpret_cast<std::byte*>(&of_previous),
                               .bytes = sizeof(Call),
                               .completed = [&] { return agrees(collective.call, of_previous); }});
  if (collective.call.kind == Kind::broadcast)
    add_broadcast(collective, transfer);
  else
    add_all_reduce(collective, transfer);
  if (stream_.run(transfer, [&] { return failure_.happened(); }) == TransferEnd::peer_gone)
    lose_neighbour();
}

RingTransport::Chunk RingTransport::chunk(const Collective& collective, int k) const {
  k = (k % world_ + world_) % world_;
  const std::size_t size = collective.element_bytes(), count = collective.call.count;
  return {ring_chunk_begin(count, world_, k) * size, ring_chunk_begin(count, world_, k + 1) * size};
}

// Chunk k starts at rank k + 1 and is whole at rank k, so in step s this rank sends chunk
// rank - 1 - s and receives rank - 2 - s; the second round is the same, one further.
void RingTransport::add_all_reduce(const Collective& collective, RingTransfer& transfer) const {
  static_assert(ring_first_rank(4, 2) == 3);
  const auto type = static_cast<ncclDataType_t>(collective.call.type);
  const bool average = collective.call.op == ncclAvg;
  const std::size_t size = collective.element_bytes();
  const Chunk first = chunk(collective, rank_ - 1);
  transfer.outgoing.push_back({collective.input + first.begin, first.end - first.begin});
  transfer.lead += first.end - first.begin;
  for (int step = 0; step < 2 * (world_ - 1); ++step) {
    const Chunk part = chunk(collective, rank_ - 2 - step);
    std::byte* out = collective.output + part.begin;
    IncomingPart incoming{.data = out, .bytes = part.end - part.begin};
    if (step < world_ - 1) {
      const std::byte* own = collective.input + part.begin;
      const bool whole = step == world_ - 2;
      incoming.combine = [=, world = world_](const std::byte* received, std::size_t begin,
                                             std::size_t end) {
        const std::size_t count = (end - begin) / size;
        add(type, received, own + begin, out + begin, count);
        if (whole && average) divide(type, out + begin, world, count);
      };
    }
    transfer.incoming.push_back(std::move(incoming));
    const bool last = step == 2 * (world_ - 1) - 1;
    if (!last) transfer.outgoing.push_back({out, part.end - part.begin});
  }
}

void RingTransport::add_broadcast(const Collective& collective, RingTransfer& transfer) const {
  const int root = collective.call.root;
  const bool is_root = rank_ == root, is_last = (rank_ + 1) % world_ == root;
  if (is_root) {
    copy_own(collective);
    transfer.lead += collective.bytes();
  } else {
    transfer.incoming.push_back({.data = collective.output, .bytes = collective.bytes()});
  }
  if (!is_last) transfer.outgoing.push_back({collective.output, collective.bytes()});
}

bool RingTransport::agrees(const Call& mine, const Call& of_previous) {
  if (mine == of_previous) return true;
  monitor_->tell_mismatch((rank_ + world_ - 1) % world_, of_previous, rank_, mine);
  return false;
}

void RingTransport::lose_neighbour() {
  const Deadline deadline = after(kReasonLimit);
  while (!failure_.happened() && (silent_ || std::chrono::steady_clock::now() < deadline))
    std::this_thread::sleep_for(kLook);
  failure_.set(ncclRemoteError, fmt::format("a neighbour of rank {} in the ring has closed its "
                                            "connection: it has left the communicator",
                                            rank_));
}

}  // namespace annulus::cpu::nccl
