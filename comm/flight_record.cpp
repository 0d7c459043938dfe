// A ring of entries; see flight_record.h.
#include "comm/flight_record.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace annulus {

void FlightRecord::issued(const char* name, const char* type, std::size_t count, std::size_t step,
                          int bucket) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[issued_ % kKept];
  entry.sequence = ++issued_;
  entry.name = name;
  entry.type = type;
  entry.count = count;
  entry.step = step;
  entry.bucket = bucket;
  entry.queued = false;
}

void FlightRecord::queued_on(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[(issued_ - 1) % kKept];
  entry.event.record(stream);
  entry.queued = true;
}

Phase FlightRecord::phase() {
  const std::lock_guard lock(mutex_);
  done_ = std::max(done_, issued_ > kKept ? issued_ - kKept : 0);
  const auto is_done = [](const Entry& entry) {
    return entry.queued && cudaEventQuery(entry.event.get()) == cudaSuccess;
  };
  while (done_ < issued_ && is_done(entries_[done_ % kKept])) ++done_;
  if (issued_ == 0) return {};
  const Entry& entry = entries_[std::min(done_, issued_ - 1) % kKept];
  return {.name = entry.name, .step = entry.step, .bucket = entry.bucket};
}

void FlightRecord::freeze() {
  const std::lock_guard lock(mutex_);
  if (frozen_) return;
  frozen_ = true;
  for (Entry& entry : entries_)
    entry.done = entry.queued && cudaEventQuery(entry.event.get()) == cudaSuccess;
}

std::string FlightRecord::json(int rank, const std::string& reason) {
  freeze();
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
                           {"step", entry->step},
                           {"bucket", entry->bucket},
                           {"state", entry->done ? "done" : "issued"}});
  const nlohmann::ordered_json record{
      {"rank", rank}, {"reason", reason}, {"collectives", collectives}};
  return record.dump(1);
}

void FlightRecord::write(const std::filesystem::path& folder, int rank, const std::string& reason) {
  std::ofstream file(folder / ("flight-rank" + std::to_string(rank) + ".json"));
  file << json(rank, reason) << '\n';
}

}  // namespace annulus
