// The flight record: a rank's last 64 collectives, kept as they are issued, written to the run
// folder as JSON when the run ends badly, so that the ranks' files tell who was where. Invariant:
// issuing costs a few stores and one event; nothing is written while all is well. Called by
// comm/communicator.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/control.h"
#include "kernels/cuda.h"

namespace annulus {

class FlightRecord {
 public:
  static constexpr std::size_t kKept = 64;

  // One collective as it was issued, or as it was captured; `event` is behind it on its stream.
  struct Collective {
    const char *name = "", *type = "";
    std::size_t count = 0;
    Phase phase;
    std::shared_ptr<const Event> event;
  };

  FlightRecord();

  // One collective, in two calls around its own: about to be issued (`name` and `type` are
  // literals), and now on its stream.
  void issued(const char* name, const char* type, std::size_t count, const Phase& phase);
  void queued_on(const Stream& stream);

  // The collectives that `queue` gives to a graph. They are issued by each launch of it, in a step
  // of its own: about to be launched, and now on its stream, in two calls around the launch.
  std::vector<Collective> captured(const std::function<void()>& queue);
  void launching(const std::vector<Collective>& captured, std::size_t step);
  void launched();

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
    Collective collective;
    bool queued = false;
    std::shared_ptr<const Event> own_event = std::make_shared<Event>();
  };
  Entry& issue(const Collective& collective);

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::optional<std::vector<Collective>> captured_;  // while there is a capture
  std::size_t issued_ = 0, confirmed_ = 0;           // collectives
  std::size_t launched_from_ = 0;                    // of issued_: where the last graph's begin
  bool frozen_ = false;
};

}  // namespace annulus
