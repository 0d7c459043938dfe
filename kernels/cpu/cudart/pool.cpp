// A call is a job on its caller's stack, in a list while it has unclaimed pieces. Workers take the
// oldest job; the caller works on its own and then waits for the helpers that are still in it.
#include "kernels/cpu/cudart/pool.h"

#include <immintrin.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "kernels/cpu/cudart/current.h"
#include "kernels/cpu/cudart/device.h"
#include "kernels/cpu/cudart/options.h"
#include "kernels/simt_host.h"

namespace annulus::cpu {
namespace {

// Longer than the gap between two launches of a step, shorter than a scheduler's time slice.
constexpr auto kSpin = std::chrono::microseconds(20);

template <class Condition>
bool spin_until(Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (condition()) return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace

struct Pool::Job {
  Piece piece;
  void* context;
  std::size_t pieces;
  const char* call;  // whose work this is, for reports
  std::atomic<std::size_t> next = 0;
  std::atomic<unsigned int> helpers = 0;  // changed under the pool's mutex
  std::exception_ptr error = {};          // under the pool's mutex

  bool exhausted() const { return next.load(std::memory_order_relaxed) >= pieces; }

  void run_pieces(std::mutex& mutex) {
    const CurrentCall current(call);
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < pieces;) {
      try {
        piece(context, i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(pieces, std::memory_order_relaxed);
      }
    }
  }
};

// Where the system gives no more threads, those that there are do all the work: the bits do not
// depend on how many.
Pool::Pool(unsigned int threads) : threads_(threads) {
  try {
    for (unsigned int i = 1; i < threads_; ++i) std::thread([this] { work(); }).detach();
  } catch (const std::system_error&) {
  }
}

Pool& Pool::instance() {
  static Pool& pool = *new Pool(options().threads);
  return pool;
}

void Pool::run(std::size_t pieces, Piece piece, void* context) {
  if (pieces <= 1 || threads_ == 1) {
    for (std::size_t i = 0; i < pieces; ++i) piece(context, i);
    return;
  }
  Job job{.piece = piece, .context = context, .pieces = pieces, .call = CurrentCall::name()};
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&job);
    posted_.fetch_add(1, std::memory_order_release);
    if (sleepers_ > 0) pieces > 2 ? job_posted_.notify_all() : job_posted_.notify_one();
  }
  job.run_pieces(mutex_);

  std::unique_lock lock(mutex_);
  jobs_.remove(&job);
  if (job.helpers > 0) {
    lock.unlock();
    spin_until([&] { return job.helpers == 0; });
    lock.lock();
    job_left_.wait(lock, [&] { return job.helpers == 0; });
  }
  if (job.error) std::rethrow_exception(job.error);
}

// Under the mutex: the oldest job that still has pieces, now with one more helper.
Pool::Job* Pool::claim_job() {
  for (Job* job : jobs_) {
    if (job->exhausted()) continue;
    ++job->helpers;
    return job;
  }
  return nullptr;
}

void Pool::work() {
  for (std::unique_lock lock(mutex_);;) {
    if (Job* job = claim_job()) {
      lock.unlock();
      job->run_pieces(mutex_);
      lock.lock();
      if (--job->helpers == 0) job_left_.notify_all();
      continue;
    }
    const std::uint64_t seen = posted_;
    lock.unlock();
    spin_until([&] { return posted_ != seen; });
    lock.lock();
    ++sleepers_;
    job_posted_.wait(lock, [&] { return posted_ != seen; });
    --sleepers_;
  }
}

unsigned int thread_count() { return options().threads; }

}  // namespace annulus::cpu

namespace annulus::simt {

void parallel(std::size_t pieces, void (*piece)(void* context, std::size_t i), void* context) {
  cpu::Pool::instance().run(pieces, piece, context);
}

}  // namespace annulus::simt
