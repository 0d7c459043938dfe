// epoll for the hub; see comm/control_poller.h.
#include "comm/control_poller.h"

#include <cerrno>

namespace annulus::control {
namespace {

constexpr std::size_t most_events = 1024;  // a turn

}  // namespace

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)), events_(most_events) {
  if (!epoll_) throw NetError(NetError::Kind::system, "cannot make an epoll descriptor");
}

void Poller::control(int operation, int descriptor, std::uint32_t events, Key key) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (epoll_ctl(epoll_.descriptor(), operation, descriptor, &event) != 0)
    throw NetError(NetError::Kind::system, "epoll_ctl failed");
}

void Poller::watch(int descriptor, Key key) { control(EPOLL_CTL_ADD, descriptor, EPOLLIN, key); }

void Poller::rest(int descriptor) { control(EPOLL_CTL_DEL, descriptor, 0, 0); }

void Poller::watch(Connection& connection, Key key) {
  if (!connection.open()) return;
  const std::uint32_t events = connection.all_sent() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  Connection::Watch& watch = connection.watch;
  if (watch.events == events && watch.key == key) return;
  control(watch.events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, connection.descriptor(), events, key);
  watch = {events, key};
}

const std::vector<Poller::Key>& Poller::wait(std::chrono::milliseconds timeout) {
  ready_.clear();
  const int count = epoll_wait(epoll_.descriptor(), events_.data(),
                               static_cast<int>(events_.size()), static_cast<int>(timeout.count()));
  if (count < 0 && errno != EINTR) throw NetError(NetError::Kind::system, "epoll_wait failed");
  for (int i = 0; i < count; ++i) {
    const Key key = events_[i].data.u64;  // a copy: events are packed, a reference is misaligned
    ready_.push_back(key);
  }
  return ready_;
}

}  // namespace annulus::control
