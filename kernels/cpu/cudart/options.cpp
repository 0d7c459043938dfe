// One row per knob: its name, what it accepts, what it means, and how its value is read.
#include "kernels/cpu/cudart/options.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <type_traits>

#include "kernels/cpu/cudart/option_table.h"

namespace annulus::cpu {
namespace {

using Option = cpu::OptionOf<Options>;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A whole number of that range into a field of the options.
template <auto field, std::uint64_t least, std::uint64_t most>
bool parse_within(std::string_view value, Options& options) {
  const auto number = parse_number(value);
  if (!number || *number < least || *number > most) return false;
  auto& target = options.*field;
  target = static_cast<std::remove_reference_t<decltype(target)>>(*number);
  return true;
}

bool parse_mode(std::string_view value, Options& options) {
  constexpr std::string_view kSeeded = "shuffled:";
  if (value == "eager") return options.mode = Mode::eager, true;
  if (value == "threads") return options.mode = Mode::threads, true;
  if (value == "shuffled") return options.mode = Mode::shuffled, true;
  if (!value.starts_with(kSeeded)) return false;
  const auto seed = parse_number(value.substr(kSeeded.size()));
  if (!seed) return false;
  options.mode = Mode::shuffled;
  options.mode_seed = *seed;
  return true;
}

bool parse_check(std::string_view value, Options& options) {
  if (value == "0") return options.check = Check::off, true;
  if (value == "1") return options.check = Check::on, true;
  if (value == "abort") return options.check = Check::abort, true;
  return false;
}

bool parse_memory(std::string_view value, Options& options) {
  const auto number = parse_number(value);
  if (!number || *number == 0) return false;
  options.memory = *number;
  return true;
}

bool parse_switch(std::string_view value, bool& on) {
  if (value != "0" && value != "1") return false;
  on = value == "1";
  return true;
}

bool parse_forms(std::string_view value, Options& options) {
  return parse_switch(value, options.cpu_forms);
}

bool parse_unsteady_engine(std::string_view value, Options& options) {
  return parse_switch(value, options.unsteady_engine);
}

bool parse_thread_order(std::string_view value, Options& options) {
  if (value == "forward") return options.thread_order = ThreadOrder::forward, true;
  if (value == "reverse") return options.thread_order = ThreadOrder::reverse, true;
  const auto seed = parse_number(value);
  if (!seed) return false;
  options.thread_order = ThreadOrder::shuffled;
  options.thread_order_seed = *seed;
  return true;
}

constexpr std::array kOptions = {
    Option{{"ANNULUS_CPU_DEVICES", "1", "0 to 64", "how many devices the process sees"},
           parse_within<&Options::devices, 0, 64>},
    Option{{"ANNULUS_CPU_FIRST_DEVICE", "0", "0 to 63",
            "which of the machine's devices is the first that the process sees: bus ids count from "
            "it, as where a launcher binds one device to each task"},
           parse_within<&Options::first_device, 0, 63>},
    Option{{"ANNULUS_CPU_DRIVER_VERSION", "the runtime's", "a number, such as 12040, or 0",
            "the CUDA that the driver serves; of an older major version, or 0, no driver: every "
            "call fails as it does with such a driver"},
           parse_within<&Options::driver_version, 0, 99990>},
    Option{
        {"ANNULUS_CPU_MODE", "eager", "eager, threads, shuffled or shuffled:SEED",
         "how streams run: in the calling thread, on a thread each, or in a seeded random order"},
        parse_mode},
    Option{{"ANNULUS_CPU_THREADS", "the cores the process may use", "1 to 1024",
            "threads that share the pieces of one call, the calling thread included"},
           parse_within<&Options::threads, 1, 1024>},
    Option{{"ANNULUS_CPU_CHECK", "1 in builds with ANNULUS_CHECKED_SPANS, else 0", "0, 1 or abort",
            "the checker of stream order, bounds and lifetimes; abort: the first report fails the "
            "device"},
           parse_check},
    Option{{"ANNULUS_CPU_MEMORY", "the memory the process may use", "bytes, at least 1",
            "device memory; cudaMalloc fails beyond it"},
           parse_memory},
    Option{{"ANNULUS_CPU_FORMS", "1", "0 or 1",
            "0: every kernel runs emulated, thread by thread, also where it has a CPU form"},
           parse_forms},
    Option{{"ANNULUS_CPU_UNSTEADY_ENGINE", "0", "0 or 1",
            "1: cuDNN proposes first an engine that says it is not deterministic, and is not"},
           parse_unsteady_engine},
    Option{{"ANNULUS_CPU_THREAD_ORDER", "forward", "forward, reverse or a seed",
            "in which order the threads of an emulated block run between barriers"},
           parse_thread_order},
};

const DeclaredEnvironment kDeclared("CPU device", knobs_of(kOptions));

unsigned int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<unsigned int>(std::max(1, CPU_COUNT(&set)));
}

std::size_t usable_memory() {
  std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::size_t limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  // Where addresses are limited, most are left to the process itself: oneDNN does not survive a
  // code buffer that it cannot map.
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    bytes = std::min<std::size_t>(bytes, space.rlim_cur / 4);
  return bytes;
}

Options read_environment() {
  Options options;
  options.threads = usable_cores();
  options.memory = usable_memory();
#if defined(ANNULUS_CHECKED_SPANS)
  options.check = Check::on;
#endif
  const std::vector<std::string> refusals = read_table(kOptions, options);
  if (!refusals.empty()) options.error = refusals.back();
  return options;
}

}  // namespace

const Options& options() {
  static const Options& value = *new Options(read_environment());
  return value;
}

}  // namespace annulus::cpu
