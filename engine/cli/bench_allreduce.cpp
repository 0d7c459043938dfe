// See bench_allreduce.h. Rank 0 prints each size as soon as it is measured: nccl-tests' table, to
// which the noise of each time is added, or a JSON object a line.
#include "engine/cli/bench_allreduce.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "comm/buckets.h"
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

class Report {
 public:
  Report(const BenchAllReduceCommand& command, int ranks, std::string transport)
      : command_(command), ranks_(ranks), transport_(std::move(transport)) {}

  void begin() const {
    if (ranks_ == 1) fmt::print(stderr, "one rank: nothing is sent, so busbw is 0\n");
    if (command_.json) return;
    fmt::print("# annulus bench allreduce: {} rank{}, {}\n", ranks_, ranks_ == 1 ? "" : "s",
               transport_);
    fmt::print("#{:>48}{:^45}{:^45}\n", "", "out-of-place", "in-place");
    print_columns("size", "count", "type", "redop", "time", "algbw", "busbw", "noise", "#wrong");
    print_columns("(B)", "(elements)", "", "", "(us)", "(GB/s)", "(GB/s)", "(%)", "");
  }

  void add(const AllReduceRow& row) {
    const std::size_t bytes = row.count * command_.element_bytes();
    for (const AllReduceResult* result : {&row.out_of_place, &row.in_place}) {
      bandwidths_ += bus_bandwidth(bytes, result->call.median, ranks_);
      wrong_ += result->wrong.value_or(0);
    }
    ++rows_;
    if (command_.json)
      fmt::print("{}\n", object(row, bytes).dump());
    else
      fmt::print(" {:>12}{:>14}{:>8}{:>8}      {}{}\n", bytes, row.count, command_.type,
                 command_.op, cells(row.out_of_place, bytes), cells(row.in_place, bytes));
    std::fflush(stdout);
  }

  void end() const {
    if (command_.json) return;
    fmt::print("# wrong values: {}\n# average busbw: {:.3f} GB/s\n",
               command_.options.check ? std::to_string(wrong_) : "not checked",
               bandwidths_ / static_cast<double>(2 * rows_));
  }

 private:
  template <class... Names>
  static void print_columns(const char* size, const char* count, const char* type, const char* op,
                            Names... names) {
    std::string placement;
    ((placement += fmt::format("{:>9}", names)), ...);
    fmt::print("#{:>12}{:>14}{:>8}{:>8}      {}{}\n", size, count, type, op, placement, placement);
  }

  std::string cells(const AllReduceResult& result, std::size_t bytes) const {
    const double seconds = result.call.median;
    return fmt::format("{:>9.2f}{:>9.3f}{:>9.3f}{:>9.1f}{:>9}", 1e6 * seconds,
                       algorithm_bandwidth(bytes, seconds), bus_bandwidth(bytes, seconds, ranks_),
                       100 * result.call.noise,
                       result.wrong ? std::to_string(*result.wrong) : "N/A");
  }

  nlohmann::ordered_json placement(const AllReduceResult& result, std::size_t bytes) const {
    const double seconds = result.call.median;
    nlohmann::ordered_json object{{"time_us", 1e6 * seconds},
                                  {"algbw", algorithm_bandwidth(bytes, seconds)},
                                  {"busbw", bus_bandwidth(bytes, seconds, ranks_)},
                                  {"noise_percent", 100 * result.call.noise},
                                  {"repetitions", result.call.samples},
                                  {"wrong", nullptr}};
    if (result.wrong) object["wrong"] = *result.wrong;
    return object;
  }

  // The out-of-place figures stand at the top; "wrong" is of both placements.
  nlohmann::ordered_json object(const AllReduceRow& row, std::size_t bytes) const {
    nlohmann::ordered_json object{
        {"size", bytes}, {"count", row.count}, {"type", command_.type}, {"redop", command_.op}};
    object.update(placement(row.out_of_place, bytes));
    if (row.out_of_place.wrong) object["wrong"] = *row.out_of_place.wrong + *row.in_place.wrong;
    object["calls"] = row.calls;
    object["ranks"] = ranks_;
    object["transport"] = transport_;
    object["in_place"] = placement(row.in_place, bytes);
    return object;
  }

  const BenchAllReduceCommand& command_;
  const int ranks_;
  const std::string transport_;
  double bandwidths_ = 0;
  std::size_t rows_ = 0, wrong_ = 0;
};

void bench_as_rank(const BenchAllReduceCommand& command, World& world) {
  if (!world.control) world.control = ControlChannel::join(world.identity, world.deadlines);
  AllReduceBench bench(world, command.options, command.max_bytes);
  std::optional<Report> report;
  if (world.first()) report.emplace(command, world.ranks(), bench.transport());
  if (report) report->begin();
  std::size_t wrong = 0;
  for (std::size_t bytes = command.min_bytes; bytes <= command.max_bytes;
       bytes *= static_cast<std::size_t>(command.factor)) {
    const AllReduceRow row = bench.measure(bytes / command.element_bytes());
    wrong += row.out_of_place.wrong.value_or(0) + row.in_place.wrong.value_or(0);
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
    return app.add_option(flags, value, help)->envname(twin)->capture_default_str();
  };
  add("-b,--min-bytes", "ANNULUS_MIN_BYTES", c.min_bytes, "smallest size, bytes, K M G")
      ->transform(CLI::AsSizeValue(false));
  add("-e,--max-bytes", "ANNULUS_MAX_BYTES", c.max_bytes, "largest size, bytes, K M G")
      ->transform(CLI::AsSizeValue(false));
  add("-f,--step-factor", "ANNULUS_STEP_FACTOR", c.factor, "from one size to the next")
      ->check(CLI::Range(2, 1 << 20));
  add("-n,--calls", "ANNULUS_CALLS", c.options.calls,
      "enqueued in a row before the host waits (0: some 20 ms of them)")
      ->check(CLI::Range(0, 1000000));
  add("-w,--warmup-calls", "ANNULUS_WARMUP_CALLS", c.options.warmup_calls,
      "before a size is measured")
      ->check(CLI::Range(1, 1000000));
  add("-d,--type", "ANNULUS_TYPE", c.type, "fp32, bf16, fp16 or int32");
  add("-o,--op", "ANNULUS_OP", c.op, "sum or avg");
  add("-c,--check", "ANNULUS_CHECK", c.options.check, "compare every element (true or false)");
  app.add_flag("--json", c.json, "one JSON object a size")->envname("ANNULUS_JSON");
  add_rank_options(app, c.ranks);
}

int run_bench_allreduce(BenchAllReduceCommand& command,
                        const std::vector<std::string>& command_line) {
  command.resolve();
  return run_as_ranks(command.ranks, command_line, bench_facts(command),
                      [&](World& world) { bench_as_rank(command, world); });
}

}  // namespace annulus
