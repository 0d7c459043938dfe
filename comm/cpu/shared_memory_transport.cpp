// Arrive, compare the calls, move the bytes. A rank that has arrived has made its input readable; a
// rank that is done will touch no buffer of this call any more.
#include "comm/cpu/shared_memory_transport.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "comm/cpu/reduce.h"

namespace annulus::cpu::nccl {
namespace {

constexpr std::size_t kBlockBytes = 8 << 10;  // running sums stay in the first-level cache
constexpr std::size_t kSliceMultiple = 64;    // elements: slices share no cache line

// Some four microseconds of pauses, where every rank can have a core, then some twenty of yields.
Patience patience_of(int ranks) {
  const bool core_each = ranks <= sysconf(_SC_NPROCESSORS_ONLN);
  return {.pauses = core_each ? 200 : 1, .yields = 40};
}

std::uint32_t signal_number(const Call& call) { return static_cast<std::uint32_t>(call.number); }

bool is_small(const Collective& collective) { return collective.bytes() <= kSlotBytes; }

// A broadcast moves the root's bytes alone.
bool gives_input(const Collective& collective, int rank) {
  return collective.call.kind == Kind::all_reduce || collective.call.root == rank;
}

std::size_t slice_begin(std::size_t count, int world, int rank) {
  const std::size_t begin =
      count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(world);
  return rank == world ? count : begin / kSliceMultiple * kSliceMultiple;
}

Location make_location(const SharedRange& range, const std::byte* address) {
  return {.file = range.file, .offset = range.offset, .address = address};
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to != from && bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

SharedMemoryTransport::SharedMemoryTransport(std::shared_ptr<ControlArea> area,
                                             const Members& members, int rank, Monitor* monitor,
                                             Failure& failure)
    : area_(std::move(area)),
      peers_(members, rank),
      rank_(rank),
      world_(static_cast<int>(members.size())),
      patience_(patience_of(world_)),
      monitor_(monitor),
      failure_(failure) {}

void SharedMemoryTransport::run(const Collective& collective) {
  const std::uint32_t number = signal_number(collective.call);
  post(collective);
  area_->rank(rank_).arrived.raise(number);
  if (!wait_for_all(&RankArea::arrived, number) || !calls_agree(collective.call)) return;
  if (is_small(collective)) return finish_small(collective);
  finish_large(collective);
  area_->rank(rank_).done.raise(number);
  wait_for_all(&RankArea::done, number);
}

void SharedMemoryTransport::post(const Collective& collective) {
  RankArea& mine = area_->rank(rank_);
  const std::size_t turn = collective.call.number % 2;
  mine.posted[turn] = {.call = collective.call,
                       .input = make_location(collective.input_range, collective.input),
                       .output = make_location(collective.output_range, collective.output)};
  if (is_small(collective) && gives_input(collective, rank_))
    copy_bytes(mine.slot[turn], collective.input, collective.bytes());
}

bool SharedMemoryTransport::wait_for_all(Signal RankArea::*signal, std::uint32_t number) {
  for (int peer = 0; peer < world_; ++peer) {
    Signal& theirs = area_->rank(peer).*signal;
    if (!theirs.wait_for(number, patience_, [&] { return gives_up_on(peer, theirs, number); }))
      return false;
  }
  return true;
}

bool SharedMemoryTransport::gives_up_on(int peer, const Signal& signal, std::uint32_t number) {
  if (area_->rank(peer).left != 0 && !signal.has_reached(number)) {
    failure_.set(ncclRemoteError,
                 fmt::format("rank {} has left the communicator before call {}", peer, number));
  }
  return failure_.happened();
}

const Posted& SharedMemoryTransport::posted(int rank, const Call& call) const {
  return area_->rank(rank).posted[call.number % 2];
}

// Every rank compares all with rank 0, so all find the same pair; it is told all the same, for a
// peer that is still waiting when this rank ends for it.
bool SharedMemoryTransport::calls_agree(const Call& mine) {
  const Call& first = posted(0, mine).call;
  for (int rank = 1; rank < world_; ++rank) {
    const Call& other = posted(rank, mine).call;
    if (other == first) continue;
    monitor_->tell_mismatch(0, first, rank, other);
    return false;
  }
  return true;
}

void SharedMemoryTransport::finish_small(const Collective& collective) {
  const std::size_t turn = collective.call.number % 2;
  if (collective.call.kind == Kind::broadcast) {
    copy_bytes(collective.output, area_->rank(collective.call.root).slot[turn], collective.bytes());
    return;
  }
  std::vector<const std::byte*> inputs;
  for (int rank = 0; rank < world_; ++rank) inputs.push_back(area_->rank(rank).slot[turn]);
  reduce(collective, inputs, {collective.output}, 0, collective.call.count);
}

void SharedMemoryTransport::finish_large(const Collective& collective) {
  const Call& call = collective.call;
  if (call.kind == Kind::broadcast) {
    const std::byte* from = peers_.locate(call.root, posted(call.root, call).input);
    copy_bytes(collective.output, from, collective.bytes());
    return;
  }
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (int rank = 0; rank < world_; ++rank) {
    inputs.push_back(peers_.locate(rank, posted(rank, call).input));
    outputs.push_back(peers_.locate(rank, posted(rank, call).output));
  }
  reduce(collective, inputs, outputs, slice_begin(call.count, world_, rank_),
         slice_begin(call.count, world_, rank_ + 1));
}

// Block by block: all inputs are read before an output is written, which may be one of them.
void SharedMemoryTransport::reduce(const Collective& collective,
                                   const std::vector<const std::byte*>& inputs,
                                   const std::vector<std::byte*>& outputs, std::size_t begin,
                                   std::size_t end) const {
  const auto type = static_cast<ncclDataType_t>(collective.call.type);
  const std::size_t size = collective.element_bytes();
  alignas(64) std::byte sums[kBlockBytes];
  for (std::size_t at = begin; at < end; at += kBlockBytes / size) {
    const std::size_t count = std::min(kBlockBytes / size, end - at);
    const std::byte* so_far = inputs[0] + at * size;
    for (std::size_t rank = 1; rank < inputs.size(); ++rank, so_far = sums)
      add(type, so_far, inputs[rank] + at * size, sums, count);
    if (so_far != sums) copy_bytes(sums, so_far, count * size);
    if (collective.call.op == ncclAvg) divide(type, sums, world_, count);
    for (std::byte* output : outputs) copy_bytes(output + at * size, sums, count * size);
  }
}

}  // namespace annulus::cpu::nccl
