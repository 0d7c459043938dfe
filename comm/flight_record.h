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
  void issued(const char* name, const char* type, std::size_t count, const Phase& phase);
  void queued_on(const Stream& stream);

  // Collectives that are over, counted from the first; they end in the order of their calls. A
  // communicator that fails ends all of them: the count is confirmed once NCCL, asked after it,
  // says that there is no error.
  std::size_t ended();
  void confirm(std::size_t ended);

  // Of the oldest collective that is not confirmed: where this rank is.
  Phase phase();

  // What is confirmed from now on comes from a communicator that fails, and does not count. Any
  // thread.
  void freeze();

  // {"rank":…,"reason":…,"collectives":
  //   [{"sequence","name","type","count","phase","step","bucket","state":"done" or "issued"}]}
  std::string json(int rank, const std::string& reason);

  // flight-rank<r>.json in the folder; a folder that cannot be written is no second failure.
  void write(const std::filesystem::path& folder, int rank, const std::string& reason);

 private:
  struct Entry {
    std::size_t sequence = 0;  // from 1; 0: unused
    const char *name = "", *type = "";
    std::size_t count = 0;
    Phase phase;
    bool queued = false;
    Event event;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::size_t issued_ = 0, confirmed_ = 0;  // collectives
  bool frozen_ = false;
};

}  // namespace annulus
