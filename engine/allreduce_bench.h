// How long an all-reduce of one size takes, by the method of nccl-tests (doc/PERFORMANCE.md): many
// calls are enqueued and the host synchronises once; a call costs what the slowest rank needed.
// Invariant: all ranks take the same decisions, because each sample is the maximum over ranks,
// which all know. Called by engine/cli/bench_allreduce on every rank; prints nothing.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "bench/measure.h"
#include "comm/communicator.h"
#include "engine/allreduce_data.h"
#include "engine/world.h"

namespace annulus {

struct AllReduceBenchOptions {
  ElementType type = ElementType::fp32;
  ncclRedOp_t op = ncclSum;
  int warmup_calls = 5;
  int calls = 0;  // in a row, between two synchronisations; 0: by the time that a call takes
  bool check = true;
};

// Seconds of one call (median over repetitions, and its noise), and wrong elements over all ranks
// after a call of its own; nothing where none was checked.
struct AllReduceResult {
  bench::Timing call;
  std::optional<std::size_t> wrong;
};

struct AllReduceRow {
  std::size_t count, bytes;
  int calls;  // in a row
  AllReduceResult out_of_place, in_place;

  std::optional<std::size_t> wrong() const;  // of both placements
};

// Bytes over seconds, decimal GB/s; busbw is what each link carries whatever the number of ranks.
double algorithm_bandwidth(std::size_t bytes, double seconds);
double bus_bandwidth(std::size_t bytes, double seconds, int ranks);

// Holds a stream back while calls are enqueued, so that the time of the calls does not contain that
// of the enqueueing. Nothing to hold where a stream runs its work inside the call.
class StreamHold {
 public:
  void close(const Stream& stream);
  void open();

 private:
  static void wait_until_open(void* hold);

  std::thread::id host_;
  std::atomic<bool> open_{true};
};

class AllReduceBench {
 public:
  // Collective over the world, as all that follows. The world must have a channel.
  AllReduceBench(World& world, const AllReduceBenchOptions& options, std::size_t most_bytes);
  ~AllReduceBench();

  AllReduceRow measure(std::size_t count);
  std::string transport() const;

 private:
  using Call = Communicator::PlainAllReduce;

  struct Plan {
    int calls;  // in a row
    bench::StopRule rule;
  };
  Plan warm_up(const Call& call);
  AllReduceResult measure(const Call& call, const Plan& plan);
  double time(const Call& call, int calls);  // seconds of one
  double slowest(double seconds);
  std::size_t count_wrong(const Call& call);

  const AllReduceBenchOptions options_;
  World& world_;
  const AllReduceData data_;
  Communicator communicator_;
  StreamHold hold_;  // outlives the stream, which may be inside it
  Stream stream_;
  Buffer<std::byte> input_, output_, meeting_;
  Event start_{true}, stop_{true};
};

}  // namespace annulus
