// See comm/slurm_step.h.
#include "comm/slurm_step.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

namespace annulus {
namespace {

// The number at the front of `text`, which loses it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view front) {
  if (text.substr(0, front.size()) != front) return false;
  text.remove_prefix(front.size());
  return true;
}

bool is_host_character(unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.'; }

}  // namespace

bool is_slurm_task_step(std::string_view step_id) {
  constexpr std::uint32_t first_pseudo_step = 0xfffffff0;
  const std::optional<std::uint32_t> number = take_number(step_id);
  return number && step_id.empty() && *number < first_pseudo_step;
}

std::optional<std::string> slurm_first_host(std::string_view node_list) {
  const auto front_end = std::find_if_not(node_list.begin(), node_list.end(), is_host_character);
  std::string host(node_list.begin(), front_end);
  node_list.remove_prefix(host.size());
  if (take(node_list, "[")) {
    const auto digits = std::find_if_not(node_list.begin(), node_list.end(),
                                         [](unsigned char c) { return std::isdigit(c) != 0; });
    if (digits == node_list.begin()) return std::nullopt;
    host.append(node_list.begin(), digits);  // with its leading zeros
    const std::size_t close = node_list.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    node_list.remove_prefix(close + 1);
  }
  const bool ends = node_list.empty() || node_list.front() == ',';
  if (host.empty() || !ends) return std::nullopt;
  return host;
}

std::optional<int> slurm_tasks_of_node(std::string_view tasks_per_node, int node) {
  for (std::uint32_t nodes_before = 0; !tasks_per_node.empty(); take(tasks_per_node, ",")) {
    const std::optional<std::uint32_t> tasks = take_number(tasks_per_node);
    std::optional<std::uint32_t> nodes = 1;
    if (take(tasks_per_node, "(x")) {
      nodes = take_number(tasks_per_node);
      if (!take(tasks_per_node, ")")) return std::nullopt;
    }
    const bool ends = tasks_per_node.empty() || tasks_per_node.front() == ',';
    if (!tasks || !nodes || *tasks == 0 || *nodes == 0 || !ends) return std::nullopt;
    nodes_before += *nodes;
    if (static_cast<std::uint32_t>(node) < nodes_before) return static_cast<int>(*tasks);
  }
  return std::nullopt;
}

int slurm_port(std::string_view run) {
  constexpr unsigned int first = 20'000, ports = 10'000, factor = 31;
  unsigned int offset = 0;
  for (const unsigned char c : run) offset = (offset * factor + c) % ports;
  return static_cast<int>(first + offset);
}

}  // namespace annulus
