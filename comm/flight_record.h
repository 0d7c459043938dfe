// The flight record: a rank's last 64 collectives, kept as they are issued, written to the run
// folder as JSON when the run ends badly, so that the ranks' files tell who was where. Invariant:
// issuing costs a few stores and one event; nothing is written while all is well. Called by
// comm/communicator.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "comm/control.h"
#include "kernels/cuda.h"

namespace annulus {

class FlightRecord {
 public:
  static constexpr std::size_t kKept = 64;

  FlightRecord() : entries_(kKept) {}

  // One collective, in two calls around its own: about to be issued (`name` and `type` are
  // literals), and now on its stream.
  void issued(const char* name, const char* type, std::size_t count, std::size_t step, int bucket);
  void queued_on(const Stream& stream);

  // Where the oldest collective that is not done belongs: where this rank is.
  Phase phase();

  // Asks each collective's event whether it is done, once: an aborted communicator completes
  // everything, so this comes before the abort. Any thread.
  void freeze();

  // {"rank":…,"reason":…,"collectives":[{"sequence","name","type","count","step","bucket","state"}]}
  std::string json(int rank, const std::string& reason);

  // flight-rank<r>.json in the folder; a folder that cannot be written is no second failure.
  void write(const std::filesystem::path& folder, int rank, const std::string& reason);

 private:
  struct Entry {
    std::size_t sequence = 0;  // from 1; 0: unused
    const char *name = "", *type = "";
    std::size_t count = 0, step = 0;
    int bucket = -1;
    bool queued = false, done = false;
    Event event;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::size_t issued_ = 0, done_ = 0;  // collectives; done_ of them are known to be
  bool frozen_ = false;
};

}  // namespace annulus
