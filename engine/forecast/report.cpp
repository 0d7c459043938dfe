// A forecast as a table for people and as JSON for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/doctor/bytes.h"
#include "engine/forecast/forecast.h"
#include "engine/runs/table.h"

namespace annulus::forecast {
namespace {

using Json = nlohmann::ordered_json;
using cudnn_graph::Engine;
using cudnn_graph::EngineList;

std::size_t deterministic_count(const EngineList& list) {
  return std::size_t(std::ranges::count_if(list.engines, &Engine::deterministic));
}

// Engines; workspace and determinism of the one that would be taken.
std::vector<std::string> engine_cells(const std::optional<EngineList>& list) {
  if (!list) return {"-", "-", "-"};
  if (list->engines.empty()) return {"none", "-", "-"};
  const std::size_t count = list->engines.size();
  return {std::to_string(count),
          list->workspace_bytes ? doctor::in_words(*list->workspace_bytes) : "?",
          fmt::format("{}, {} of {}", list->engines.front().deterministic ? "yes" : "no",
                      deterministic_count(*list), count)};
}

std::vector<std::string> cells(const Row& row) {
  const auto work = [&](double value, const char* format) {
    return row.call.flops > 0 ? fmt::format(fmt::runtime(format), value) : std::string("-");
  };
  std::vector<std::string> line = {row.call.layer, row.call.pass};
  std::ranges::move(engine_cells(row.engines), std::back_inserter(line));
  for (const std::string& cell :
       {work(row.call.flops / 1e6, "{:.1f}"), fmt::format("{:.3f}", row.call.bytes / 1e6),
        work(row.intensity(), "{:.1f}"), std::string(row.memory_bound() ? "memory" : "compute"),
        fmt::format("{:.2f}", 1e6 * row.seconds())})
    line.push_back(cell);
  return line;
}

std::vector<std::string> total_cells(const Forecast& f) {
  return {"step",
          "in all",
          "",
          "",
          "",
          fmt::format("{:.1f}", f.flops() / 1e6),
          fmt::format("{:.3f}", f.bytes() / 1e6),
          fmt::format("{:.1f}", f.flops() / f.bytes()),
          "",
          fmt::format("{:.2f}", 1e6 * f.seconds())};
}

std::string refusals(const Forecast& f) {
  std::string lines;
  for (const Row& row : f.rows)
    if (row.engines && row.engines->engines.empty())
      lines += fmt::format("\n{} {}: cuDNN has no engine: {}", row.call.layer, row.call.pass,
                           row.engines->refusal);
  return lines;
}

Json engines_json(const EngineList& list) {
  Json engines = Json::array();
  for (const Engine& engine : list.engines)
    engines.push_back({{"index", engine.index},
                       {"deterministic", engine.deterministic},
                       {"tensor_cores", engine.tensor_cores}});
  return engines;
}

Json row_json(const Row& row) {
  Json json = {{"layer", row.call.layer},
               {"pass", row.call.pass},
               {"convolution", row.call.convolution.has_value()},
               {"cudnn_batchnorm", row.call.batchnorm.has_value()},
               {"flops", row.call.flops},
               {"bytes", row.call.bytes},
               {"flops_per_byte", row.intensity()},
               {"limit", row.memory_bound() ? "memory" : "compute"},
               {"seconds", row.seconds()}};
  if (!row.engines) return json;
  json["engines"] = engines_json(*row.engines);
  json["workspace_bytes"] =
      row.engines->workspace_bytes ? Json(*row.engines->workspace_bytes) : Json(nullptr);
  if (!row.engines->refusal.empty()) json["refusal"] = row.engines->refusal;
  return json;
}

}  // namespace

std::string to_text(const Forecast& f) {
  std::vector<std::vector<std::string>> rows = {{"layer", "pass", "engines", "workspace",
                                                 "deterministic", "MFLOP", "MB", "FLOP/B", "limit",
                                                 "at least us"}};
  for (const Row& row : f.rows) rows.push_back(cells(row));
  rows.push_back(total_cells(f));
  using runs::Align::left, runs::Align::right;
  std::string text = fmt::format(
      "{} in {}, {} images, on {}: {:g} TFLOP/s and {:g} GB/s, equal at {:.1f} FLOP/B\n\n", f.model,
      f.precision.name, f.images, f.gpu.name, f.peak() / 1e12, f.gpu.bytes_per_second / 1e9,
      f.peak() / f.gpu.bytes_per_second);
  text += runs::aligned(rows, {left, left, right, right, right, right, right, right, left, right});
  text += fmt::format(
      "\na step takes {:.3g} ms at least, {:.0f} images/s at most; {:.0f} % of it waits for memory",
      1e3 * f.seconds(), f.images / f.seconds(), 100 * f.memory_bound_seconds() / f.seconds());
  if (!f.not_asked.empty()) text += fmt::format("\nno engines: {}", f.not_asked);
  return text + refusals(f);
}

std::string to_json(const Forecast& f) {
  Json rows = Json::array();
  for (const Row& row : f.rows) rows.push_back(row_json(row));
  const Json json = {{"model", f.model},
                     {"device", f.gpu.name},
                     {"precision", f.precision.name},
                     {"batch_size", f.images},
                     {"peak_flops", f.peak()},
                     {"memory_bytes_per_second", f.gpu.bytes_per_second},
                     {"engines_not_asked", f.not_asked},
                     {"rows", rows},
                     {"step",
                      {{"flops", f.flops()},
                       {"bytes", f.bytes()},
                       {"seconds", f.seconds()},
                       {"images_per_second", f.images / f.seconds()}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace annulus::forecast
