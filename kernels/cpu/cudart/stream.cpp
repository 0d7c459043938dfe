// Streams as queues, and the three ways to empty them. Completion is a count per stream, so an
// event needs no object in the queue.
#include "kernels/cpu/cudart/stream.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudart/runtime.h"

namespace annulus::cpu {
namespace {

constexpr std::size_t kQueueLimit = 1024;  // operations; a host that runs ahead further is held

}  // namespace

bool Ticket::done() const { return stream == nullptr || stream->completed >= number; }

std::shared_ptr<Stream> Scheduler::create(int device, unsigned int flags, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  if (free_slots_.empty()) {
    stream->slot = next_slot_++;
  } else {
    stream->slot = free_slots_.back().slot;
    stream->clock.start(stream->slot, free_slots_.back().count);
    free_slots_.pop_back();
  }
  streams_.push_back(stream);
  if (options().mode == Mode::threads) std::thread([this, stream] { serve(stream); }).detach();
  return stream;
}

template <class Condition>
void Scheduler::wait_until(Lock& lock, const Condition& reached) {
  if (reached()) return;
  ++waiting_;
  while (!reached()) {
    if (options().mode != Mode::shuffled || !run_some_stream(lock)) changed_.wait(lock);
  }
  --waiting_;
}

void Scheduler::destroy(Lock& lock, const std::shared_ptr<Stream>& stream) {
  wait(lock, {stream, stream->queued});
  close(*stream);
}

void Scheduler::retire(Stream& stream) {
  stream.retired = true;
  if (stream.completed == stream.queued) close(stream);
}

// The caller holds a reference.
void Scheduler::close(Stream& stream) {
  stream.closed = true;
  stream.woken.notify_all();
  free_slots_.push_back({stream.slot, stream.clock.count_of(stream.slot)});
  std::erase_if(streams_, [&](const auto& known) { return known.get() == &stream; });
}

std::shared_ptr<Stream> Scheduler::find(cudaStream_t handle) const {
  const auto it = std::find_if(streams_.begin(), streams_.end(),
                               [&](const auto& stream) { return stream.get() == handle; });
  return it == streams_.end() ? nullptr : *it;
}

Ticket Scheduler::submit(Lock& lock, const std::shared_ptr<Stream>& stream, Operation operation) {
  const std::uint64_t number = ++stream->queued;
  if (options().mode == Mode::eager) {
    run_at_once(lock, *stream, std::move(operation), number);
    return {stream, number};
  }
  stream->queue.push_back(std::move(operation));
  if (stream->queue.size() == 1 && is_runnable(*stream)) stream->woken.notify_all();
  if (waiting_ > 0 && options().mode == Mode::shuffled) changed_.notify_all();
  if (stream->queue.size() > kQueueLimit)
    wait_until(lock, [&] { return stream->queue.size() <= kQueueLimit; });
  return {stream, number};
}

void Scheduler::wait(Lock& lock, const Ticket& ticket) {
  wait_until(lock, [&] { return ticket.done(); });
}

void Scheduler::stop(Lock& lock) {
  stopped_ = true;
  changed_.wait(lock, [&] { return running_ == 0; });
}

bool Scheduler::is_runnable(const Stream& stream) const {
  if (stream.busy || stream.queue.empty() || stopped_) return false;
  const auto& after = stream.queue.front().after;
  return std::all_of(after.begin(), after.end(), [](const Ticket& t) { return t.done(); });
}

void Scheduler::run_next(Lock& lock, Stream& stream) {
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (operation.work) {
    stream.busy = true;
    ++running_;
    lock.unlock();
    run_operation(stream.device, operation);
    operation = {};  // its captures end before its completion is seen
    lock.lock();
    --running_;
    stream.busy = false;
  }
  finish(stream);
}

// Eager: in the calling thread. Only another host thread's work can be in the way.
void Scheduler::run_at_once(Lock& lock, Stream& stream, Operation operation, std::uint64_t number) {
  wait_until(lock, [&] {
    return stream.completed + 1 == number &&
           std::all_of(operation.after.begin(), operation.after.end(),
                       [](const Ticket& t) { return t.done(); });
  });
  if (operation.work) {
    lock.unlock();
    run_operation(stream.device, operation);
    operation = {};
    lock.lock();
  }
  finish(stream);
}

void Scheduler::finish(Stream& stream) {
  ++stream.completed;
  if (stream.retired && stream.completed == stream.queued) close(stream);
  if (waiting_ > 0 || stopped_) changed_.notify_all();
  if (options().mode == Mode::threads) wake_runnable();
}

// Each thread only when its stream can go on: a step has hundreds of operations, and waking a
// thread that must wait again would cost more than most of them.
void Scheduler::wake_runnable() {
  for (const auto& stream : streams_)
    if (is_runnable(*stream)) stream->woken.notify_all();
}

// Shuffled: one operation of one stream that can run.
bool Scheduler::run_some_stream(Lock& lock) {
  std::vector<std::shared_ptr<Stream>> runnable;
  std::copy_if(streams_.begin(), streams_.end(), std::back_inserter(runnable),
               [&](const auto& stream) { return is_runnable(*stream); });
  if (runnable.empty()) return false;
  run_next(lock, *runnable[random_() % runnable.size()]);
  return true;
}

void Scheduler::advance(Lock& lock) {
  if (options().mode == Mode::shuffled) run_some_stream(lock);
}

void Scheduler::serve(std::shared_ptr<Stream> stream) {
  Lock lock(mutex_);
  for (;;) {
    stream->woken.wait(lock, [&] { return stream->closed || is_runnable(*stream); });
    if (stream->closed) return;
    run_next(lock, *stream);
  }
}

}  // namespace annulus::cpu
