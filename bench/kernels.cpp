// bench_kernels: times every registry case marked `timed` and says what share of the machine's
// peaks it reaches. Columns: median milliseconds of one launch, noise, GFLOP/s and GB/s with their
// shares of the fused multiply-add rate and memory bandwidth measured in the same run.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/device_peaks.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "kernels/cuda.h"
#include "kernels/registry/registry.h"

namespace annulus::bench {
namespace {

struct Options {
  std::string filter;
  unsigned int threads = usable_cores();
  bool json = false;
  std::string peaks = "host";
  StopRule stop;
};

struct Result {
  std::string kernel, shape;
  Timing timing;  // of one launch
  double gflops, gbytes;
};

// Short kernels are launched several times between two events, so that a sample is long against the
// clock's grain.
Timing time_case(const registry::Case& c, const StopRule& rule) {
  constexpr double kSampleSeconds = 200e-6;
  const registry::DeviceArrays device(c);
  const Stream stream;
  const Event start(true), end(true);
  const auto seconds_of_launches = [&](int launches) {
    start.record(stream);
    for (int i = 0; i < launches; ++i) c.launch(stream.get(), device);
    end.record(stream);
    end.synchronize();
    return end.milliseconds_since(start) * 1e-3;
  };
  seconds_of_launches(1);  // the first touches memory and builds what is built once
  const double once = std::max(seconds_of_launches(1), 1e-9);
  const int launches = std::max(1, static_cast<int>(std::ceil(kSampleSeconds / once)));
  return measure(rule, [&] { return seconds_of_launches(launches) / launches; });
}

Result bench_case(const std::string& kernel, const registry::Case& c, const StopRule& rule) {
  const Timing timing = time_case(c, rule);
  return {kernel, c.shape, timing, c.flops / timing.median * 1e-9,
          c.bytes() / timing.median * 1e-9};
}

constexpr const char* kHeader = "{:<31} {:<57} {:>9} {:>7} {:>8} {:>8} {:>6} {:>7} {:>6}\n";
constexpr const char* kRow =
    "{:<31} {:<57} {:>9.4f} {:>6.1f}% {:>8} {:>8.2f} {:>5.1f}% {:>7.2f} {:>5.1f}%\n";

// What rates are shares of: of the cores that compute, or of the device as its libraries reach it.
struct Peaks {
  std::string of;  // "2 threads"
  double gflops, gbytes;
};

Peaks measure_peaks(const Options& options) {
  if (options.peaks == "device") {
    const DevicePeaks device = measure_device_peaks();
    return {"the device", device.gflops, device.gbytes};
  }
  const Machine host = measure_machine(options.threads);
  return {fmt::format("{} thread{}", host.threads, host.threads == 1 ? "" : "s"), host.gflops,
          host.gbytes};
}

void print_header(const Peaks& peaks) {
  fmt::print("{}, peaks measured now: {:.1f} GFLOP/s fp32, {:.1f} GB/s memory\n\n", peaks.of,
             peaks.gflops, peaks.gbytes);
  fmt::print(kHeader, "kernel", "shape", "ms", "noise", "samples", "GFLOP/s", "peak", "GB/s",
             "peak");
}

void print_row(const Result& r, const Peaks& peaks) {
  fmt::print(kRow, r.kernel, r.shape, r.timing.median * 1e3, r.timing.noise * 100, r.timing.samples,
             r.gflops, r.gflops / peaks.gflops * 100, r.gbytes, r.gbytes / peaks.gbytes * 100);
  std::fflush(stdout);
}

nlohmann::json to_json(const std::vector<Result>& results, const Peaks& peaks) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Result& r : results)
    rows.push_back({{"kernel", r.kernel},
                    {"shape", r.shape},
                    {"ms", r.timing.median * 1e3},
                    {"noise", r.timing.noise},
                    {"samples", r.timing.samples},
                    {"gflops", r.gflops},
                    {"gbytes_per_sec", r.gbytes},
                    {"share_of_flops", r.gflops / peaks.gflops},
                    {"share_of_bandwidth", r.gbytes / peaks.gbytes}});
  return {{"peaks", {{"of", peaks.of}, {"gflops", peaks.gflops}, {"gbytes_per_sec", peaks.gbytes}}},
          {"kernels", rows}};
}

// On a terminal, what is being timed; erased by the next line.
void show_progress(const std::string& what) {
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K{}", what);
}

struct Work {
  std::string kernel;
  registry::MakeCase make;
};

std::vector<Work> chosen_work(const std::string& filter) {
  std::vector<Work> work;
  for (const registry::Entry& entry : registry::entries()) {
    if (entry.name.find(filter) == std::string::npos) continue;
    for (const registry::MakeCase& make : entry.timed) work.push_back({entry.name, make});
  }
  return work;
}

int run(const Options& options) {
  setenv("ANNULUS_CPU_THREADS", std::to_string(options.threads).c_str(), 1);
  const std::vector<Work> work = chosen_work(options.filter);
  if (work.empty()) {
    fmt::print(stderr,
               "bench_kernels: no kernel's name contains '{}'; without --filter all are timed\n",
               options.filter);
    return 2;
  }
  show_progress("measuring the peaks");
  const Peaks peaks = measure_peaks(options);
  show_progress("");
  if (!options.json) print_header(peaks);

  std::vector<Result> results;
  for (const auto& [kernel, make] : work) {
    show_progress(fmt::format("{} of {}: {}", results.size() + 1, work.size(), kernel));
    results.push_back(bench_case(kernel, make(), options.stop));
    show_progress("");
    if (!options.json) print_row(results.back(), peaks);
  }
  if (options.json) fmt::print("{}\n", to_json(results, peaks).dump(2));
  return 0;
}

int parse_and_run(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Times the kernels of the registry on shapes of the real models.\n"
      "GFLOP/s count what the formula needs; GB/s each input read once and each output written "
      "once.\n"
      "The data stays warm, so what fits the caches can exceed the memory's peak.\n"
      "Compare medians of runs on a quiet machine: the noise column is half the distance between\n"
      "quartiles.",
      "bench_kernels");
  app.add_option("--filter", options.filter, "time kernels whose name contains this")
      ->option_text("TEXT");
  app.add_option("--threads", options.threads, "threads of the CPU device and of the peaks")
      ->check(CLI::Range(1, 1024))
      ->option_text(fmt::format("N={}", options.threads));
  app.add_option("--peaks", options.peaks, "what rates are shares of: the host's cores, the device")
      ->check(CLI::IsMember({"host", "device"}))
      ->option_text("host|device");
  app.add_flag("--json", options.json, "one JSON object on stdout instead of the table");
  app.add_option("--min-time", options.stop.min_seconds, "each case is timed at least this long")
      ->check(CLI::PositiveNumber)
      ->option_text(fmt::format("SECONDS={}", options.stop.min_seconds));
  app.add_option("--max-time", options.stop.max_seconds, "each case is timed at most this long")
      ->check(CLI::PositiveNumber)
      ->option_text(fmt::format("SECONDS={}", options.stop.max_seconds));
  CLI11_PARSE(app, argc, argv);
  return run(options);
}

}  // namespace
}  // namespace annulus::bench

int main(int argc, char** argv) {
  try {
    return annulus::bench::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_kernels: %s\n", error.what());
    return 1;
  }
}
