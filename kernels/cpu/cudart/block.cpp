// A block runs in rounds: every thread that can run does so until it waits or returns, then the
// barriers that are complete open. A round that opens none is a divergent barrier.
#include "kernels/cpu/cudart/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/cudart/fiber.h"
#include "kernels/cpu/cudart/kernel_fault.h"
#include "kernels/cpu/cudart/limits.h"
#include "kernels/cpu/cudart/options.h"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace annulus::cpu {
namespace {

// Thrown out of barriers to unwind the other threads of a block in which one has failed.
struct BlockStopped {};

enum class State { fresh, running, at_block_barrier, at_warp_barrier, done };

struct Thread {
  State state = State::fresh;
  unsigned int mask = 0;    // of the warp barrier it waits at
  unsigned int parity = 0;  // which of the warp's exchange buffers its next exchange uses
  Fiber* fiber = nullptr;
};

// Two buffers: a lane may run ahead into the next exchange while others still read this one.
struct Warp {
  std::array<std::array<std::uint64_t, kWarp>, 2> values;
};

class Block {
 public:
  Block(const simt::Kernel& kernel, const void* packed, dim3 size, std::size_t shared_bytes);

  void run();
  void run_threads(Fiber& fiber);  // on the fiber: the current thread, then fresh ones
  void wait_at_block_barrier() { wait(State::at_block_barrier, 0); }
  void wait_at_warp_barrier(unsigned int mask) { wait(State::at_warp_barrier, mask); }
  std::uint64_t exchange(unsigned int mask, std::uint64_t value, unsigned int source_lane);
  unsigned int ballot(unsigned int mask, bool predicate);

  unsigned int current() const { return current_; }
  void* shared_memory() { return shared_.get(); }

 private:
  void run_thread();
  bool start_next_thread();
  void wait(State state, unsigned int mask);
  void resume(unsigned int thread);
  void make_current(unsigned int thread);
  bool open_warp_barriers();
  unsigned int lanes_of_warp_in(std::size_t warp, State state) const;
  void open_block_barrier();
  std::string describe_divergence() const;
  void stop_others();
  unsigned int count(State state) const;

  const simt::Kernel& kernel_;
  const void* packed_;
  const dim3 size_;
  const unsigned int count_;
  std::unique_ptr<std::byte[]> shared_;
  std::size_t shared_bytes_;
  std::vector<unsigned int> order_;  // thread numbers in the order in which they run
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::size_t next_fresh_ = 0;  // place in order_
  unsigned int current_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

thread_local Block* running = nullptr;

// The fibers of this host thread, kept from launch to launch.
class Fibers {
 public:
  Fiber* take() {
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Fiber>(&Fibers::live));
      return all_.back().get();
    }
    Fiber* fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }
  void give_back(Fiber* fiber) { idle_.push_back(fiber); }

 private:
  static void live(Fiber& fiber) {
    for (;;) {
      running->run_threads(fiber);
      fiber.yield();
    }
  }

  std::vector<std::unique_ptr<Fiber>> all_;
  std::vector<Fiber*> idle_;
};

thread_local Fibers fibers;

std::vector<unsigned int> thread_order(unsigned int count) {
  std::vector<unsigned int> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (options().thread_order == ThreadOrder::reverse) std::reverse(order.begin(), order.end());
  if (options().thread_order == ThreadOrder::shuffled) {
    std::minstd_rand random(
        static_cast<std::minstd_rand::result_type>(options().thread_order_seed));
    for (unsigned int i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  }
  return order;
}

Block::Block(const simt::Kernel& kernel, const void* packed, dim3 size, std::size_t shared_bytes)
    : kernel_(kernel),
      packed_(packed),
      size_(size),
      count_(size.x * size.y * size.z),
      shared_(new std::byte[std::max<std::size_t>(shared_bytes, 16)]),
      shared_bytes_(shared_bytes),
      order_(thread_order(count_)),
      threads_(count_),
      warps_((count_ + kWarp - 1) / kWarp) {}

// Runs the block at blockIdx: rounds of every thread that can run, then the barriers open.
void Block::run() {
  std::fill(threads_.begin(), threads_.end(), Thread{});
  std::fill_n(shared_.get(), shared_bytes_, std::byte{0xFF});
  next_fresh_ = 0;
  stopping_ = false;
  while (start_next_thread()) resume(current_);
  while (count(State::done) < count_ && !error_) {
    for (const unsigned int thread : order_) {
      if (threads_[thread].state == State::running) resume(thread);
    }
    if (error_ || open_warp_barriers()) continue;
    if (count(State::at_block_barrier) == count_) {
      open_block_barrier();
    } else if (count(State::done) < count_) {
      error_ = std::make_exception_ptr(KernelFault("divergent barrier", describe_divergence()));
    }
  }
  if (error_) {
    stop_others();
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

// A thread that waits keeps the fiber; one that returns hands it to the next fresh thread.
void Block::run_threads(Fiber& fiber) {
  do {
    threads_[current_].fiber = &fiber;
    run_thread();
  } while (start_next_thread());
  fibers.give_back(&fiber);
}

void Block::run_thread() {
  const unsigned int thread = current_;
  try {
    kernel_.run(packed_);
  } catch (const BlockStopped&) {
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
  threads_[thread].state = State::done;
}

bool Block::start_next_thread() {
  if (next_fresh_ == order_.size() || error_) return false;
  current_ = order_[next_fresh_++];
  threads_[current_].state = State::running;
  make_current(current_);
  return true;
}

void Block::wait(State state, unsigned int mask) {
  const unsigned int thread = current_;
  threads_[thread].state = state;
  threads_[thread].mask = mask;
  threads_[thread].fiber->yield();
  if (stopping_) throw BlockStopped{};
}

void Block::resume(unsigned int thread) {
  make_current(thread);
  Fiber*& fiber = threads_[thread].fiber;
  if (fiber == nullptr) fiber = fibers.take();
  fiber->resume();
}

void Block::make_current(unsigned int thread) {
  current_ = thread;
  threadIdx = {thread % size_.x, thread / size_.x % size_.y, thread / (size_.x * size_.y)};
}

unsigned int Block::lanes_of_warp_in(std::size_t warp, State state) const {
  unsigned int lanes = 0;
  const unsigned int first = static_cast<unsigned int>(warp) * kWarp;
  for (unsigned int lane = 0; lane < kWarp && first + lane < count_; ++lane)
    lanes |= static_cast<unsigned int>(threads_[first + lane].state == state) << lane;
  return lanes;
}

// A warp barrier opens when every lane of its mask waits at one, or has returned. Lanes that the
// block does not have count as returned.
bool Block::open_warp_barriers() {
  bool opened = false;
  for (std::size_t warp = 0; warp < warps_.size(); ++warp) {
    const unsigned int waiting = lanes_of_warp_in(warp, State::at_warp_barrier);
    if (waiting == 0) continue;
    const unsigned int elsewhere = lanes_of_warp_in(warp, State::at_block_barrier);
    for (unsigned int lane = 0; lane < kWarp; ++lane) {
      if ((waiting >> lane & 1u) == 0) continue;
      Thread& thread = threads_[warp * kWarp + lane];
      if ((thread.mask & elsewhere) != 0) continue;
      thread.state = State::running;
      opened = true;
    }
  }
  return opened;
}

void Block::open_block_barrier() {
  for (Thread& thread : threads_) thread.state = State::running;
}

std::string Block::describe_divergence() const {
  return fmt::format(
      "in block ({},{},{}): {} of {} threads wait at __syncthreads, {} at a warp "
      "barrier or shuffle, {} have returned: every thread must reach the same barrier",
      blockIdx.x, blockIdx.y, blockIdx.z, count(State::at_block_barrier), count_,
      count(State::at_warp_barrier), count(State::done));
}

void Block::stop_others() {
  stopping_ = true;
  for (unsigned int thread = 0; thread < count_; ++thread) {
    const State state = threads_[thread].state;
    if (state != State::done && state != State::fresh) resume(thread);
  }
}

unsigned int Block::count(State state) const {
  return static_cast<unsigned int>(
      std::count_if(threads_.begin(), threads_.end(),
                    [&](const Thread& thread) { return thread.state == state; }));
}

std::uint64_t Block::exchange(unsigned int mask, std::uint64_t value, unsigned int source_lane) {
  const unsigned int thread = current_;
  auto& buffer = warps_[thread / kWarp].values[threads_[thread].parity];
  threads_[thread].parity ^= 1;
  buffer[thread % kWarp] = value;
  wait_at_warp_barrier(mask);
  return buffer[source_lane % kWarp];
}

unsigned int Block::ballot(unsigned int mask, bool predicate) {
  const unsigned int thread = current_;
  auto& buffer = warps_[thread / kWarp].values[threads_[thread].parity];
  exchange(mask, predicate, 0);
  unsigned int votes = 0;
  const unsigned int first = thread / kWarp * kWarp;
  for (unsigned int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
    if ((mask >> lane & 1u) != 0 && buffer[lane] != 0) votes |= 1u << lane;
  }
  return votes;
}

Block& running_block(const char* what) {
  if (running == nullptr) {
    throw KernelFault("not emulated",
                      fmt::format("calls {} in an elementwise kernel or CPU form: register the "
                                  "kernel with SIMT_KERNEL",
                                  what));
  }
  return *running;
}

}  // namespace

void emulate(const simt::Kernel& kernel, const void* packed, dim3 grid, dim3 block,
             std::size_t shared_bytes) {
  Block emulated(kernel, packed, block, shared_bytes);
  running = &emulated;
  blockDim = block;
  gridDim = grid;
  struct Reset {
    ~Reset() { running = nullptr; }
  } reset;
  for (unsigned int z = 0; z < grid.z; ++z) {
    for (unsigned int y = 0; y < grid.y; ++y) {
      for (unsigned int x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        emulated.run();
      }
    }
  }
}

bool is_emulating() { return running != nullptr; }

simt::LoopRange emulated_range(std::size_t n) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  return {n * thread / threads, n * (thread + 1) / threads};
}

std::string emulated_place() {
  if (running == nullptr) return "";
  return fmt::format(" in thread ({},{},{}) of block ({},{},{})", threadIdx.x, threadIdx.y,
                     threadIdx.z, blockIdx.x, blockIdx.y, blockIdx.z);
}

}  // namespace annulus::cpu

namespace annulus::simt {

void block_barrier() { cpu::running_block("__syncthreads").wait_at_block_barrier(); }

void warp_barrier(unsigned int mask) {
  cpu::running_block("__syncwarp").wait_at_warp_barrier(mask);
}

unsigned int lane() { return cpu::running_block("a shuffle").current() % cpu::kWarp; }

std::uint64_t exchange(unsigned int mask, std::uint64_t value, unsigned int source_lane) {
  return cpu::running_block("a shuffle").exchange(mask, value, source_lane);
}

unsigned int ballot(unsigned int mask, bool predicate) {
  return cpu::running_block("__ballot_sync").ballot(mask, predicate);
}

void* dynamic_shared_memory() { return cpu::running_block("dynamic_shared").shared_memory(); }

}  // namespace annulus::simt
