// What a launch does. A kernel runs by its CPU form if it has one, cut
// into pieces of its loop if it is elementwise, and emulated otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>

#include "kernels/cpu/cudart/block.h"
#include "kernels/cpu/cudart/current.h"
#include "kernels/cpu/cudart/kernel_fault.h"
#include "kernels/cpu/cudart/kernel_table.h"
#include "kernels/cpu/cudart/limits.h"
#include "kernels/cpu/cudart/queue.h"
#include "kernels/cpu/cudart/runtime.h"
#include "kernels/simt.h"

namespace annulus::cpu {
namespace {

constexpr std::size_t kPieceBytes = 128 << 10;  // of the spans' bytes: some ten microseconds
constexpr std::size_t kPieceMultiple = 64;      // elements: only the last piece has a vector tail
constexpr std::size_t kSmallestPiece = 256;     // elements

std::atomic<bool>& cpu_forms() {
  static std::atomic<bool> use = options().cpu_forms;
  return use;
}

// A launch with its own copy of the kernel's parameters.
struct Launch {
  Launch(const simt::Kernel& kernel_, dim3 grid_, dim3 block_, std::size_t shared_bytes_,
         void* const* arguments)
      : kernel(kernel_), grid(grid_), block(block_), shared_bytes(shared_bytes_) {
    kernel.pack(arguments, packed.data());
  }

  const simt::Kernel& kernel;
  dim3 grid, block;
  std::size_t shared_bytes;
  alignas(std::max_align_t) std::array<std::byte, simt::kMaxPackedBytes> packed;
};

// What a launch touches, as its spans say.
struct Accesses {
  explicit Accesses(const Launch& launch)
      : count(launch.kernel.accesses(launch.packed.data(), list.data())) {}

  std::span<const Access> span() const { return {list.data(), count}; }

  std::array<Access, simt::kMaxAccesses> list;
  std::size_t count;
};

// What grid_stride gives the code that runs on this thread outside the emulation.
struct Loop {
  enum class Mode { whole, measure, piece } mode = Mode::whole;
  std::size_t begin = 0, end = 0;  // the piece
  std::size_t n = 0;               // measured
  unsigned int loops = 0;          // measured
};
thread_local Loop loop;

// Runs the kernel with its loop so set, and returns what became of it.
Loop run_loop(const Launch& launch, const Loop& setting) {
  struct Restore {
    ~Restore() { loop = {}; }
  } restore;
  loop = setting;
  launch.kernel.run(launch.packed.data());
  return loop;
}

// The size of an elementwise kernel's loop: run it with an empty one.
std::size_t measure_loop(const Launch& launch) {
  const Loop measured = run_loop(launch, {.mode = Loop::Mode::measure});
  if (measured.loops != 1) {
    throw KernelFault("not elementwise",
                      fmt::format("has {} grid_stride loops: SIMT_ELEMENTWISE is for exactly one",
                                  measured.loops));
  }
  return measured.n;
}

std::size_t piece_elements(std::size_t n, std::size_t bytes) {
  const std::size_t bytes_per_element = std::max<std::size_t>(1, bytes / n);
  const std::size_t wanted = std::max(kPieceBytes / bytes_per_element, kSmallestPiece);
  return (wanted + kPieceMultiple - 1) / kPieceMultiple * kPieceMultiple;
}

std::size_t touched_bytes(const Launch& launch) {
  const Accesses accesses(launch);
  std::size_t bytes = 0;
  for (const Access& access : accesses.span()) bytes += access.bytes;
  return bytes;
}

void run_in_pieces(const Launch& launch) {
  const std::size_t n = measure_loop(launch);
  if (n == 0) return;
  const std::size_t piece = piece_elements(n, touched_bytes(launch));
  parallel((n + piece - 1) / piece, [&](std::size_t i) {
    run_loop(launch,
             {.mode = Loop::Mode::piece, .begin = i * piece, .end = std::min(n, (i + 1) * piece)});
  });
}

void run(const Launch& launch) {
  const simt::Kernel& kernel = launch.kernel;
  if (cpu_forms() && kernel.cpu_form != nullptr) {
    kernel.cpu_form(launch.packed.data());
  } else if (cpu_forms() && kernel.kind == simt::KernelKind::elementwise) {
    run_in_pieces(launch);
  } else {
    emulate(kernel, launch.packed.data(), launch.grid, launch.block, launch.shared_bytes);
  }
}

bool is_within(dim3 size, Extent limit) {
  const auto fits = [](unsigned int value, int most) {
    return value >= 1 && value <= static_cast<unsigned int>(most);
  };
  return fits(size.x, limit.x) && fits(size.y, limit.y) && fits(size.z, limit.z);
}

bool has_valid_limits(const simt::Kernel& kernel, dim3 grid, dim3 block, std::size_t shared_bytes) {
  return is_within(grid, kMaxGrid) && is_within(block, kMaxBlock) &&
         std::size_t{block.x} * block.y * block.z <= kMaxBlockThreads &&
         shared_bytes <= kernel.max_shared_bytes;
}

}  // namespace
}  // namespace annulus::cpu

using namespace annulus::cpu;

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t handle) {
  return api([&](Runtime& runtime) -> cudaError_t {
    const annulus::simt::Kernel* kernel = find_kernel(function);
    if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
    Lock lock(runtime.mutex);
    if (!has_valid_limits(*kernel, grid, block, shared_bytes)) return cudaErrorInvalidConfiguration;
    const auto stream = runtime.stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    const auto launch = std::make_shared<Launch>(*kernel, grid, block, shared_bytes, arguments);
    return queue_call(runtime, lock, stream, kernel->name, Accesses(*launch).span(),
                      [launch] { run(*launch); });
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return api([&](Runtime& runtime) -> cudaError_t {
    annulus::simt::Kernel* kernel = find_kernel(function);
    if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        value > kMaxDynamicShared) {
      return cudaErrorInvalidValue;
    }
    const Lock lock(runtime.mutex);
    kernel->max_shared_bytes = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  const annulus::simt::Kernel* kernel = find_kernel(function);
  if (name == nullptr || kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
  *name = kernel->name;
  return cudaSuccess;
}

namespace annulus {

void out_of_span(std::size_t index, std::size_t size) {
  const char* where = cpu::CurrentCall::name() ? "" : "host code ";
  throw cpu::KernelFault("out of span", fmt::format("{}used index {} of a span of {} elements{}",
                                                    where, index, size, cpu::emulated_place()));
}

}  // namespace annulus

namespace annulus::simt {

void use_cpu_forms(bool use) { cpu::cpu_forms() = use; }

bool is_emulated() { return cpu::is_emulating(); }

LoopRange loop_range(std::size_t n) {
  using Mode = cpu::Loop::Mode;
  if (cpu::is_emulating()) return cpu::emulated_range(n);
  cpu::Loop& loop = cpu::loop;
  if (loop.mode == Mode::whole) return {0, n};  // a CPU form that calls its kernel
  if (loop.mode == Mode::piece) return {loop.begin, loop.end};
  loop.n = n;
  ++loop.loops;
  return {0, 0};
}

}  // namespace annulus::simt
