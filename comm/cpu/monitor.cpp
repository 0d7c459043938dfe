// One thread that sleeps in poll(2) until a neighbour says something or is gone.
#include "comm/cpu/monitor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>

#include "comm/cpu/error.h"
#include "kernels/cpu/cudart/device.h"

namespace annulus::cpu::nccl {
namespace {

constexpr std::chrono::milliseconds kNoticeLimit{1'000};  // to send or receive one

std::string describe_loss(int rank) {
  return fmt::format("rank {} is gone: its process ended, or it aborted the communicator", rank);
}

}  // namespace

Monitor::Monitor(RingLink links, int rank, int world, bool silent, Failure& failure)
    : links_(std::move(links)),
      rank_(rank),
      world_(world),
      silent_(silent),
      failure_(failure),
      wake_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_up_)
    throw NcclError(ncclSystemError, "no eventfd: is the limit of open files reached?");
  thread_ = std::thread([this] { watch(); });
}

Monitor::~Monitor() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_up_.descriptor(), &one, sizeof one));
  thread_.join();
}

void Monitor::leave() {
  const Notice bye{.kind = Notice::Kind::bye, .rank = rank_};
  send(links_.next, bye);
  send(links_.previous, bye);
}

void Monitor::tell_mismatch(int rank, const Call& call, int other_rank, const Call& other_call) {
  const Notice notice{.kind = Notice::Kind::mismatch,
                      .rank = rank,
                      .other_rank = other_rank,
                      .call = call,
                      .other_call = other_call};
  act_on(notice);  // first: the peers may be gone as soon as they know
  send(links_.next, notice);
  send(links_.previous, notice);
}

void Monitor::watch() {
  bool next_open = true, previous_open = true;
  for (;;) {
    // poll ignores negative descriptors.
    std::array<pollfd, 3> waiting{
        pollfd{wake_up_.descriptor(), POLLIN, 0},
        pollfd{next_open ? links_.next.descriptor() : -1, POLLIN, 0},
        pollfd{previous_open ? links_.previous.descriptor() : -1, POLLIN, 0}};
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[0].revents != 0) return;
    if (waiting[1].revents != 0)
      take(links_.next, (rank_ + 1) % world_, links_.previous, next_open);
    if (waiting[2].revents != 0)
      take(links_.previous, (rank_ + world_ - 1) % world_, links_.next, previous_open);
  }
}

// A neighbour's word, or its connection's end, which is its loss unless it said goodbye.
void Monitor::take(const Socket& from, int neighbour, const Socket& to, bool& open) {
  Notice notice;
  try {
    from.receive(&notice, sizeof notice, after(kNoticeLimit));
  } catch (const NetError&) {
    notice = {.kind = Notice::Kind::lost, .rank = neighbour};
    open = false;
  }
  if (notice.kind == Notice::Kind::bye) {
    open = false;
    return;
  }
  if (notice.kind == Notice::Kind::lost && silent_) return;
  // On before acting: when this rank ends for it, its other neighbour knows the reason.
  if (!failure_.happened()) send(to, notice);
  act_on(notice);
}

void Monitor::act_on(const Notice& notice) {
  if (notice.kind == Notice::Kind::lost) {
    failure_.set(ncclRemoteError, describe_loss(notice.rank));
    return;
  }
  const std::string message =
      describe_mismatch(notice.rank, notice.call, notice.other_rank, notice.other_call);
  if (failure_.set(ncclInvalidUsage, message)) report("collective mismatch", message);
}

void Monitor::send(const Socket& to, const Notice& notice) {
  const std::lock_guard lock(sending_);
  try {
    to.send(&notice, sizeof notice, after(kNoticeLimit));
  } catch (const NetError&) {  // gone: its own end tells the others
  }
}

}  // namespace annulus::cpu::nccl
