// See allreduce_report.h.
#include "engine/cli/allreduce_report.h"
#include "comm/console.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace annulus {
namespace {

template <class... Names>
void print_columns(const char* size, const char* count, const char* type, const char* op,
                   Names... names) {
  std::string placement;
  ((placement += fmt::format("{:>9}", names)), ...);
  print_line(fmt::format("#{:>12}{:>14}{:>8}{:>8}      {}{}", size, count, type, op, placement,
                         placement));
}

std::string number(const std::optional<std::size_t>& wrong) {
  return wrong ? std::to_string(*wrong) : "N/A";
}

nlohmann::ordered_json json_number(const std::optional<std::size_t>& wrong) {
  return wrong ? nlohmann::ordered_json(*wrong) : nlohmann::ordered_json(nullptr);
}

}  // namespace

AllReduceReport::AllReduceReport(std::string type, std::string op, int ranks, std::string transport,
                                 bool json)
    : type_(std::move(type)),
      op_(std::move(op)),
      ranks_(ranks),
      transport_(std::move(transport)),
      json_(json) {
  if (ranks_ == 1) note("one rank: nothing is sent, so busbw is 0\n");
  if (!json_) print_head();
}

void AllReduceReport::print_head() const {
  print_line(fmt::format("# annulus bench allreduce: {} rank{}, {}", ranks_, ranks_ == 1 ? "" : "s",
                         transport_));
  print_line(fmt::format("#{:>48}{:^45}{:^45}", "", "out-of-place", "in-place"));
  print_columns("size", "count", "type", "redop", "time", "algbw", "busbw", "noise", "#wrong");
  print_columns("(B)", "(elements)", "", "", "(us)", "(GB/s)", "(GB/s)", "(%)", "");
}

void AllReduceReport::add(const AllReduceRow& row) {
  for (const AllReduceResult* result : {&row.out_of_place, &row.in_place})
    bandwidths_ += bus_bandwidth(row.bytes, result->call.median, ranks_);
  if (const auto wrong = row.wrong()) wrong_ = wrong_.value_or(0) + *wrong;
  ++rows_;
  if (json_)
    print_line(object_of(row).dump());
  else
    print_line(fmt::format(" {:>12}{:>14}{:>8}{:>8}      {}{}", row.bytes, row.count, type_, op_,
                           cells(row.out_of_place, row.bytes), cells(row.in_place, row.bytes)));
}

void AllReduceReport::end() const {
  if (json_) return;
  print_line(fmt::format("# wrong values: {}\n# average busbw: {:.3f} GB/s", number(wrong_),
                         bandwidths_ / static_cast<double>(2 * rows_)));
}

std::string AllReduceReport::cells(const AllReduceResult& result, std::size_t bytes) const {
  const double seconds = result.call.median;
  return fmt::format("{:>9.2f}{:>9.3f}{:>9.3f}{:>9.1f}{:>9}", 1e6 * seconds,
                     algorithm_bandwidth(bytes, seconds), bus_bandwidth(bytes, seconds, ranks_),
                     100 * result.call.noise, number(result.wrong));
}

nlohmann::ordered_json AllReduceReport::object_of(const AllReduceResult& result,
                                                  std::size_t bytes) const {
  const double seconds = result.call.median;
  return {{"time_us", 1e6 * seconds},
          {"algbw", algorithm_bandwidth(bytes, seconds)},
          {"busbw", bus_bandwidth(bytes, seconds, ranks_)},
          {"noise_percent", 100 * result.call.noise},
          {"repetitions", result.call.samples},
          {"wrong", json_number(result.wrong)}};
}

// The out-of-place figures stand at the top; "wrong" there is of both placements.
nlohmann::ordered_json AllReduceReport::object_of(const AllReduceRow& row) const {
  nlohmann::ordered_json object{
      {"size", row.bytes}, {"count", row.count}, {"type", type_}, {"redop", op_}};
  object.update(object_of(row.out_of_place, row.bytes));
  object["wrong"] = json_number(row.wrong());
  object["calls"] = row.calls;
  object["ranks"] = ranks_;
  object["transport"] = transport_;
  object["in_place"] = object_of(row.in_place, row.bytes);
  return object;
}

}  // namespace annulus
