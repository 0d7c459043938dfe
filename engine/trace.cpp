// See trace.h.
#include "engine/trace.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace annulus {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTracedSteps = 16;
constexpr double kMicroseconds = 1000;  // in a millisecond

std::string all_reduce_name(std::size_t update, std::size_t bucket) {
  return fmt::format("all-reduce of bucket {}, step {}", bucket, update + 1);
}

void add_step(const StepTimes& step, std::vector<TraceEvent>& events) {
  const auto add = [&](std::string name, const char* track, double begin, double end) {
    events.push_back({std::move(name),
                      track,
                      {(step.begin + begin) * kMicroseconds, (step.begin + end) * kMicroseconds}});
  };
  for (std::size_t c = 0; c < step.calls.size(); ++c) {
    const char* pass = 2 * c < step.calls.size() ? "forward" : "backward";
    add(fmt::format("{} {}", step.calls[c].name, pass), "compute", step.calls[c].time.begin,
        step.calls[c].time.end);
  }
  for (std::size_t b = 0; b < step.buckets.size(); ++b) {
    const BucketTimes& bucket = step.buckets[b];
    add(all_reduce_name(step.update, b), "communication", bucket.started, bucket.ended);
    add(fmt::format("update of bucket {}", b), "update", bucket.update.begin, bucket.update.end);
  }
}

Json to_json(const std::vector<TraceEvent>& events) {
  Json list = Json::array();
  for (const TraceEvent& e : events) list.push_back({e.name, e.track, e.time.begin, e.time.end});
  return list;
}

std::vector<TraceEvent> from_json(const std::string& text) {
  std::vector<TraceEvent> events;
  for (const Json& e : Json::parse(text))
    events.push_back({e[0], e[1], {e[2].get<double>(), e[3].get<double>()}});
  return events;
}

}  // namespace

std::vector<TraceEvent> trace_of(const std::deque<StepTimes>& steps) {
  std::vector<TraceEvent> events;
  const std::size_t first = steps.size() > kTracedSteps ? steps.size() - kTracedSteps : 0;
  for (std::size_t s = first; s < steps.size(); ++s) add_step(steps[s], events);
  return events;
}

std::vector<double> clock_offsets(const std::vector<std::vector<TraceEvent>>& ranks,
                                  const std::string& mark) {
  std::vector<double> offsets;
  double end_on_rank_0 = 0;
  for (const std::vector<TraceEvent>& events : ranks) {
    const auto found = std::find_if(events.begin(), events.end(),
                                    [&](const TraceEvent& e) { return e.name == mark; });
    if (found == events.end()) return {};
    if (offsets.empty()) end_on_rank_0 = found->time.end;
    offsets.push_back(found->time.end - end_on_rank_0);
  }
  return offsets;
}

Json merge_traces(const std::vector<std::vector<TraceEvent>>& ranks, const std::string& mark) {
  const std::vector<double> offsets = clock_offsets(ranks, mark);
  Json events = Json::array();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", rank},
                      {"args", {{"name", fmt::format("rank {}", rank)}}}});
    const double offset = offsets.empty() ? 0 : offsets[rank];
    for (const TraceEvent& e : ranks[rank])
      events.push_back({{"name", e.name},
                        {"ph", "X"},
                        {"pid", rank},
                        {"tid", e.track},
                        {"ts", e.time.begin - offset},
                        {"dur", e.time.length()}});
  }
  Json metadata;
  if (offsets.empty())
    metadata["clocks"] = "not aligned: no event named '" + mark + "' on every rank";
  else
    metadata["aligned_on"] = "the end of '" + mark + "'";
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}, {"metadata", metadata}};
}

std::string gather_trace(ControlChannel* control, int rank, const std::deque<StepTimes>& steps) {
  const std::vector<TraceEvent> mine = trace_of(steps);
  const auto mark = std::find_if(mine.begin(), mine.end(),
                                 [](const TraceEvent& e) { return e.track == "communication"; });
  const std::string text_of_mine = to_json(mine).dump();
  const std::vector<std::string> texts =
      control ? control->gather(text_of_mine) : std::vector{text_of_mine};
  if (rank != 0) return "";
  std::vector<std::vector<TraceEvent>> ranks;
  for (const std::string& text : texts) ranks.push_back(from_json(text));
  return merge_traces(ranks, mark == mine.end() ? "" : mark->name).dump();
}

}  // namespace annulus
