// One row per knob: its name, what it accepts, what it means, and how its value is read.
#include "comm/cpu/options.h"

#include <array>
#include <charconv>
#include <string_view>

#include "kernels/check.h"
#include "kernels/cpu/cudart/option_table.h"

namespace annulus::cpu::nccl {
namespace {

using Option = cpu::OptionOf<Options>;

bool parse_positive(std::string_view value, int& number) {
  const char* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  return error == std::errc() && stop == end && number > 0;
}

bool parse_timeout(std::string_view value, Options& options) {
  int milliseconds = 0;
  if (!parse_positive(value, milliseconds)) return false;
  options.timeout = std::chrono::milliseconds(milliseconds);
  return true;
}

bool parse_version(std::string_view value, Options& options) {
  return parse_positive(value, options.version);
}

bool parse_switch(std::string_view value, bool& on) {
  if (value != "0" && value != "1") return false;
  on = value == "1";
  return true;
}

bool parse_silent(std::string_view value, Options& options) {
  return parse_switch(value, options.silent);
}

bool parse_no_shared_memory(std::string_view value, Options& options) {
  bool disabled = false;
  if (!parse_switch(value, disabled)) return false;
  options.shared_memory = !disabled;
  return true;
}

bool parse_host(std::string_view value, Options& options) {
  options.host = value;
  return value.size() < 64;
}

constexpr std::array kOptions = {
    Option{{"ANNULUS_CPU_NCCL_TIMEOUT_MS", "30000", "milliseconds, at least 1",
            "how long the ranks of a communicator wait for each other when it is made"},
           parse_timeout},
    Option{{"ANNULUS_CPU_NCCL_SILENT", "0", "0 or 1",
            "1: a dead peer is not reported and only hangs, as it often does with real NCCL"},
           parse_silent},
    Option{{"ANNULUS_CPU_NCCL_VERSION", "that of nccl.h", "a number such as 21805",
            "what ncclGetVersion says: to see how ranks with different versions are refused"},
           parse_version},
    Option{{"NCCL_SHM_DISABLE", "0", "0 or 1",
            "1: ranks of one host use the TCP ring instead of shared memory"},
           parse_no_shared_memory},
    Option{{"NCCL_HOSTID", "the machine's boot id", "a name below 64 characters",
            "which host this is: ranks that differ do not share memory"},
           parse_host},
};

const DeclaredEnvironment kDeclared("Sums between ranks on the CPU device", knobs_of(kOptions));

}  // namespace

Options read_options() {
  Options options;
  const std::vector<std::string> refusals = read_table(kOptions, options);
  if (!refusals.empty()) throw UserError(ExitCode::usage, refusals.front());
  return options;
}

}  // namespace annulus::cpu::nccl
