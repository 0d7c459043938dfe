// The root keeps the deadline for absent ranks and says who they are; a rank's own is a little
// longer, for a root that is gone.
#include "comm/cpu/bootstrap.h"

#include <fmt/format.h>

#include "comm/cpu/error.h"

namespace annulus::cpu::nccl {
namespace {

constexpr std::chrono::milliseconds kPatience{3'000};  // beyond the root's own deadline

}  // namespace

Bootstrap::Bootstrap(const IdContents& id, int world, int rank, const Member& mine,
                     std::chrono::milliseconds timeout)
    : timeout_(timeout) {
  try {
    root_ = connect_to(id.address.data(), static_cast<std::uint16_t>(id.port), after(timeout));
    const Hello hello{.nonce = id.nonce, .world = world, .rank = rank, .member = mine};
    root_.send(&hello, sizeof hello, after(timeout));
  } catch (const NetError& error) {
    throw NcclError(
        ncclRemoteError,
        fmt::format("rank {} of {} cannot reach the process that made the unique id: {}", rank,
                    world, error.what()));
  }
  receive_reply();
  members_.resize(static_cast<std::size_t>(world));
  root_.receive(members_.data(), members_.size() * sizeof(Member), after(timeout));
}

bool Bootstrap::agree(bool mine) const {
  const std::int32_t vote = mine ? 1 : 0;
  try {
    root_.send(&vote, sizeof vote, after(timeout_));
  } catch (const NetError&) {  // the root has given up; its last reply says why
  }
  return receive_reply().agreed != 0;
}

Reply Bootstrap::receive_reply() const {
  Reply reply;
  try {
    root_.receive(&reply, sizeof reply, after(timeout_ + kPatience));
  } catch (const NetError& error) {
    throw NcclError(
        ncclRemoteError,
        fmt::format("no word from the process that made the unique id: {}", error.what()));
  }
  if (reply.result != ncclSuccess)
    throw NcclError(static_cast<ncclResult_t>(reply.result), reply.message.data());
  return reply;
}

}  // namespace annulus::cpu::nccl
