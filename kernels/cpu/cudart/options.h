// The environment knobs of the CPU device, declared once in one table and read once, at the first
// CUDA call. An invalid value makes every CUDA call fail with cudaErrorInvalidValue; the line on
// stderr names what is accepted. Read by the rest of kernels/cpu/cudart and by `--help-env`.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace annulus::cpu {

enum class Mode { eager, threads, shuffled };
enum class Check { off, on, abort };
enum class ThreadOrder { forward, reverse, shuffled };

struct Options {
  int devices = 1;
  int first_device = 0;                 // of the machine's, as bus ids tell
  int driver_version = CUDART_VERSION;  // as CUDA counts; 0: no driver
  Mode mode = Mode::eager;
  std::uint64_t mode_seed = 1;
  unsigned int threads = 1;
  Check check = Check::off;
  std::size_t memory = 0;
  bool cpu_forms = true;
  bool unsteady_engine = false;
  ThreadOrder thread_order = ThreadOrder::forward;
  std::uint64_t thread_order_seed = 1;
  std::string error;  // empty, or why the environment was refused
};

const Options& options();

}  // namespace annulus::cpu
