// See bench_allreduce.h.
#include "engine/cli/bench_allreduce.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <optional>

#include "comm/buckets.h"
#include "comm/console.h"
#include "comm/nccl_settings.h"
#include "engine/cli/allreduce_report.h"
#include "engine/cli/device.h"
#include "engine/cli/ranks.h"

namespace annulus {
namespace {

ElementType parse_type(const std::string& name) {
  for (const ElementType type :
       {ElementType::fp32, ElementType::bf16, ElementType::fp16, ElementType::int32})
    if (name == name_of(type)) return type;
  throw UserError(
      ExitCode::usage,
      fmt::format("--type {}: there is no such type; one of: fp32, bf16, fp16, int32", name));
}

ncclRedOp_t parse_op(const std::string& name) {
  if (name == "sum") return ncclSum;
  if (name == "avg") return ncclAvg;
  throw UserError(ExitCode::usage,
                  fmt::format("--op {}: there is no such operation; one of: sum, avg", name));
}

// All ranks must measure the same.
std::vector<Fact> bench_facts(const BenchAllReduceCommand& c) {
  return {{"all-reduce bench", fmt::format("-b {} -e {} -f {} -n {} -w {} -d {} -o {} -c {}",
                                           c.min_bytes, c.max_bytes, c.factor, c.options.calls,
                                           c.options.warmup_calls, c.type, c.op, c.options.check)}};
}

// Whatever ends the bench: what is queued uses buffers that are about to be freed.
struct FinishDevice {
  ~FinishDevice() {
    if (std::uncaught_exceptions()) cudaDeviceSynchronize();
  }
};

void bench_as_rank(const BenchAllReduceCommand& command, World& world) {
  if (!world.control) world.control = ControlChannel::join(world.identity, world.deadlines);
  AllReduceBench bench(world, command.options, command.max_bytes);
  const FinishDevice finish;
  std::optional<AllReduceReport> report;
  if (world.first())
    report.emplace(command.type, command.op, world.ranks(), bench.transport(), command.json);
  std::size_t wrong = 0;
  for (std::size_t bytes = command.min_bytes; bytes <= command.max_bytes;
       bytes *= static_cast<std::size_t>(command.factor)) {
    const AllReduceRow row = bench.measure(bytes / command.element_bytes());
    wrong += row.wrong().value_or(0);
    if (report) report->add(row);
  }
  if (report) report->end();
  if (wrong > 0)
    throw std::runtime_error(fmt::format("{} values of the all-reduces were wrong", wrong));
}

}  // namespace

void BenchAllReduceCommand::resolve() {
  options.type = parse_type(type);
  options.op = parse_op(op);
  if (min_bytes < element_bytes())
    throw UserError(ExitCode::usage,
                    fmt::format("--min-bytes {}: an element of {} has {} bytes; begin with as many",
                                min_bytes, type, element_bytes()));
  if (min_bytes > max_bytes)
    throw UserError(ExitCode::usage,
                    fmt::format("--min-bytes {} is above --max-bytes {}; exchange them",
                                format_bytes(min_bytes), format_bytes(max_bytes)));
}

void add_bench_allreduce_options(CLI::App& app, BenchAllReduceCommand& c) {
  const auto add = [&](const char* flags, const char* twin, auto& value, const char* help) {
    return app.add_option(flags, value, help)
        ->envname(twin)
        ->group("What to measure")
        ->capture_default_str();
  };
  add("-b,--min-bytes", "ANNULUS_MIN_BYTES", c.min_bytes, "smallest size in bytes; K M G")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("SIZE")
      ->default_str(format_bytes(c.min_bytes));
  add("-e,--max-bytes", "ANNULUS_MAX_BYTES", c.max_bytes, "largest size in bytes; K M G")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("SIZE")
      ->default_str(format_bytes(c.max_bytes));
  add("-f,--step-factor", "ANNULUS_STEP_FACTOR", c.factor, "from one size to the next")
      ->check(CLI::Range(2, 1 << 20));
  add("-n,--calls", "ANNULUS_CALLS", c.options.calls,
      "enqueued in a row before the host waits; 0: some 20 ms of them")
      ->check(CLI::Range(0, 1000000));
  add("-w,--warmup-calls", "ANNULUS_WARMUP_CALLS", c.options.warmup_calls,
      "calls before a size is measured")
      ->check(CLI::Range(1, 1000000));
  add("-d,--type", "ANNULUS_TYPE", c.type, "of the elements")->option_text("fp32|bf16|fp16|int32");
  add("-o,--op", "ANNULUS_OP", c.op, "what is computed")->option_text("sum|avg");
  add("-c,--check", "ANNULUS_CHECK", c.options.check, "compare every element");
  app.add_flag("--json", c.json, "one JSON object a size")
      ->envname("ANNULUS_JSON")
      ->group("What to measure");
  add_rank_options(app, c.ranks);
}

int run_bench_allreduce(BenchAllReduceCommand& command,
                        const std::vector<std::string>& command_line) {
  command.resolve();
  choose_device("auto");
  return run_as_ranks(command.ranks, command_line, bench_facts(command), [&](World& world) {
    for (const std::string& line : choose_nccl_sums(false))
      if (world.first()) note(line + "\n");
    bench_as_rank(command, world);
    return 0;
  });
}

}  // namespace annulus
