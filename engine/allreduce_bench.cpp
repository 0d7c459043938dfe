// See allreduce_bench.h.
#include "engine/allreduce_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/cpu/transport_name.h"

namespace annulus {
namespace {

constexpr int kMostHeld = 500;        // calls; a device's queue holds about a thousand
constexpr int kMostCalls = 400;       // in a row
constexpr double kRowSeconds = 0.02;  // of calls in a row
constexpr double kMostRows = 100;
constexpr double kMostSeconds = 0.3;  // of each placement, so that a size takes less than a second

void fill(Buffer<std::byte>& buffer, const std::vector<std::byte>& bytes) {
  CUDA_CHECK(cudaMemcpy(buffer.span().data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
}

}  // namespace

double algorithm_bandwidth(std::size_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds / 1e9;
}

double bus_bandwidth(std::size_t bytes, double seconds, int ranks) {
  return algorithm_bandwidth(bytes, seconds) * 2 * (ranks - 1) / ranks;
}

std::optional<std::size_t> AllReduceRow::wrong() const {
  if (!out_of_place.wrong || !in_place.wrong) return std::nullopt;
  return *out_of_place.wrong + *in_place.wrong;
}

void StreamHold::close(const Stream& stream) {
  host_ = std::this_thread::get_id();
  open_ = false;
  CUDA_CHECK(cudaLaunchHostFunc(stream.get(), &StreamHold::wait_until_open, this));
}

void StreamHold::open() {
  open_ = true;
  open_.notify_all();
}

void StreamHold::wait_until_open(void* hold) {
  auto& self = *static_cast<StreamHold*>(hold);
  if (std::this_thread::get_id() != self.host_) self.open_.wait(false);
}

AllReduceBench::AllReduceBench(World& world, const AllReduceBenchOptions& options,
                               std::size_t most_bytes)
    : options_(options),
      world_(world),
      data_(options.type, options.op, world.ranks()),
      communicator_(world.rank(), world.ranks(), *world.control, world.deadlines),
      input_(most_bytes),
      output_(most_bytes),
      meeting_(sizeof(float)) {
  communicator_.join();
  fill(meeting_, std::vector<std::byte>(meeting_.size()));
}

AllReduceBench::~AllReduceBench() { hold_.open(); }

std::string AllReduceBench::transport() const {
  return cpu::nccl::transport_name(communicator_.get());
}

AllReduceRow AllReduceBench::measure(std::size_t count) {
  fill(input_, data_.input(world_.rank(), count));
  Call call{.input = input_.span().data,
            .output = output_.span().data,
            .count = count,
            .type = nccl_type(options_.type),
            .op = options_.op};
  const Plan plan = warm_up(call);
  const AllReduceResult out_of_place = measure(call, plan);
  call.input = call.output;
  return {.count = count,
          .bytes = count * size_of(options_.type),
          .calls = plan.calls,
          .out_of_place = out_of_place,
          .in_place = measure(call, plan)};
}

// What the warm-up took tells how many calls make a row, and how long to go on.
AllReduceBench::Plan AllReduceBench::warm_up(const Call& call) {
  const double seconds = time(call, options_.warmup_calls);
  const int calls =
      options_.calls > 0
          ? options_.calls
          : static_cast<int>(std::clamp(kRowSeconds / seconds, 1.0, double{kMostCalls}));
  return {.calls = calls,
          .rule = {.min_samples = 9,
                   .min_seconds = 0,
                   .max_seconds = std::min(kMostSeconds, kMostRows * calls * seconds)}};
}

AllReduceResult AllReduceBench::measure(const Call& call, const Plan& plan) {
  AllReduceResult result{
      .call = bench::measure(plan.rule, [&] { return plan.calls * time(call, plan.calls); }),
      .wrong = std::nullopt};
  result.call.median /= plan.calls;
  if (options_.check) result.wrong = count_wrong(call);
  return result;
}

// The ranks meet in a call before the clock starts, so that none waits for another in the first.
double AllReduceBench::time(const Call& call, int calls) {
  hold_.close(stream_);
  communicator_.all_reduce({.input = meeting_.span().data,
                            .output = meeting_.span().data,
                            .count = 1,
                            .type = ncclFloat32,
                            .op = ncclSum},
                           stream_);
  start_.record(stream_);
  for (int i = 0; i < calls; ++i) {
    communicator_.all_reduce(call, stream_);
    if (i == kMostHeld) hold_.open();
  }
  stop_.record(stream_);
  hold_.open();
  communicator_.wait(stop_);
  return slowest(stop_.milliseconds_since(start_) / 1e3) / calls;
}

double AllReduceBench::slowest(double seconds) {
  for (const std::string& other : world_.control->gather(fmt::format("{}", seconds)))
    seconds = std::max(seconds, std::stod(other));
  return seconds;
}

std::size_t AllReduceBench::count_wrong(const Call& call) {
  const bool in_place = call.input == call.output;
  const std::vector<std::byte> input = data_.input(world_.rank(), call.count);
  std::vector<std::byte> output(input.size(), std::byte{0xff});
  fill(output_, in_place ? input : output);
  fill(input_, input);
  communicator_.all_reduce(call, stream_);
  stop_.record(stream_);
  communicator_.wait(stop_);
  CUDA_CHECK(cudaMemcpy(output.data(), call.output, output.size(), cudaMemcpyDeviceToHost));
  std::size_t wrong = 0;
  for (const std::string& of_rank :
       world_.control->gather(std::to_string(data_.count_wrong(output))))
    wrong += std::stoull(of_rank);
  return wrong;
}

}  // namespace annulus
