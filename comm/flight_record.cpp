// A ring of entries; see flight_record.h.
#include "comm/flight_record.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace annulus {

void FlightRecord::issued(const char* name, const char* type, std::size_t count,
                          const Phase& phase) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[issued_ % kKept];
  entry.sequence = ++issued_;
  entry.name = name;
  entry.type = type;
  entry.count = count;
  entry.phase = phase;
  entry.queued = false;
}

void FlightRecord::queued_on(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[(issued_ - 1) % kKept];
  entry.event.record(stream);
  entry.queued = true;
}

std::size_t FlightRecord::ended() {
  const std::lock_guard lock(mutex_);
  std::size_t ended = std::max(confirmed_, issued_ > kKept ? issued_ - kKept : 0);
  const auto is_over = [](const Entry& entry) {
    return entry.queued && cudaEventQuery(entry.event.get()) == cudaSuccess;
  };
  while (ended < issued_ && is_over(entries_[ended % kKept])) ++ended;
  return ended;
}

void FlightRecord::confirm(std::size_t ended) {
  const std::lock_guard lock(mutex_);
  if (!frozen_) confirmed_ = std::max(confirmed_, ended);
}

Phase FlightRecord::phase() {
  const std::lock_guard lock(mutex_);
  if (issued_ == 0) return {};
  const std::size_t oldest = std::max(confirmed_, issued_ > kKept ? issued_ - kKept : 0);
  return entries_[std::min(oldest, issued_ - 1) % kKept].phase;
}

void FlightRecord::freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
}

std::string FlightRecord::json(int rank, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  std::vector<const Entry*> used;
  for (const Entry& entry : entries_)
    if (entry.sequence) used.push_back(&entry);
  std::sort(used.begin(), used.end(),
            [](const Entry* a, const Entry* b) { return a->sequence < b->sequence; });

  nlohmann::ordered_json collectives = nlohmann::ordered_json::array();
  for (const Entry* entry : used)
    collectives.push_back({{"sequence", entry->sequence},
                           {"name", entry->name},
                           {"type", entry->type},
                           {"count", entry->count},
                           {"phase", entry->phase.name},
                           {"step", entry->phase.step},
                           {"bucket", entry->phase.bucket},
                           {"state", entry->sequence <= confirmed_ ? "done" : "issued"}});
  const nlohmann::ordered_json record{
      {"rank", rank}, {"reason", reason}, {"collectives", collectives}};
  return record.dump(1);
}

void FlightRecord::write(const std::filesystem::path& folder, int rank, const std::string& reason) {
  std::ofstream file(folder / ("flight-rank" + std::to_string(rank) + ".json"));
  file << json(rank, reason) << '\n';
}

}  // namespace annulus
