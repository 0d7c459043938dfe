// A ring of entries; see flight_record.h.
#include "comm/flight_record.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace annulus {
namespace {

bool is_done(const Event& event) { return cudaEventQuery(event.get()) == cudaSuccess; }

}  // namespace

FlightRecord::FlightRecord() : entries_(kKept) {}

FlightRecord::Entry& FlightRecord::issue(const Collective& collective) {
  Entry& entry = entries_[issued_ % kKept];
  entry.sequence = ++issued_;
  entry.collective = collective;
  entry.queued = false;
  return entry;
}

void FlightRecord::issued(const char* name, const char* type, std::size_t count,
                          const Phase& phase) {
  const std::lock_guard lock(mutex_);
  const Collective collective{
      .name = name, .type = type, .count = count, .phase = phase, .event = nullptr};
  if (captured_)
    captured_->push_back(collective);
  else
    issue(collective);
}

void FlightRecord::queued_on(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (captured_) {
    const auto event = std::make_shared<Event>();
    event->stamp(stream);
    captured_->back().event = event;
    return;
  }
  Entry& entry = entries_[(issued_ - 1) % kKept];
  entry.own_event->record(stream);
  entry.collective.event = entry.own_event;
  entry.queued = true;
}

std::vector<FlightRecord::Collective> FlightRecord::captured(const std::function<void()>& queue) {
  struct End {
    FlightRecord& record;
    ~End() {
      const std::lock_guard lock(record.mutex_);
      record.captured_.reset();
    }
  } const end{*this};
  {
    const std::lock_guard lock(mutex_);
    captured_.emplace();
  }
  queue();
  const std::lock_guard lock(mutex_);
  return *captured_;
}

void FlightRecord::launching(const std::vector<Collective>& captured, std::size_t step) {
  const std::lock_guard lock(mutex_);
  launched_from_ = issued_;
  for (const Collective& collective : captured) issue(collective).collective.phase.step = step;
}

void FlightRecord::launched() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = launched_from_; i < issued_; ++i) entries_[i % kKept].queued = true;
}

// Until its launch has begun, a graph's events are those of the launch before, and done. Once the
// last one is not, all are those of this launch.
std::size_t FlightRecord::ended() {
  const std::lock_guard lock(mutex_);
  if (issued_ == 0) return 0;
  const Entry& last = entries_[(issued_ - 1) % kKept];
  const bool launch_has_begun =
      !last.queued && last.collective.event && !is_done(*last.collective.event);
  const auto is_over = [&](const Entry& entry) {
    return (entry.queued || (launch_has_begun && entry.sequence > launched_from_)) &&
           is_done(*entry.collective.event);
  };
  std::size_t ended = std::max(confirmed_, issued_ > kKept ? issued_ - kKept : 0);
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
  return entries_[std::min(oldest, issued_ - 1) % kKept].collective.phase;
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
  for (const Entry* entry : used) {
    const Collective& collective = entry->collective;
    collectives.push_back({{"sequence", entry->sequence},
                           {"name", collective.name},
                           {"type", collective.type},
                           {"count", collective.count},
                           {"phase", collective.phase.name},
                           {"step", collective.phase.step},
                           {"bucket", collective.phase.bucket},
                           {"state", entry->sequence <= confirmed_ ? "done" : "issued"}});
  }
  const nlohmann::ordered_json record{
      {"rank", rank}, {"reason", reason}, {"collectives", collectives}};
  return record.dump(1);
}

void FlightRecord::write(const std::filesystem::path& folder, int rank, const std::string& reason) {
  std::ofstream file(folder / ("flight-rank" + std::to_string(rank) + ".json"));
  file << json(rank, reason) << '\n';
}

}  // namespace annulus
