// See comm/pod_name.h.
#include "comm/pod_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>

#include "comm/identity_variables.h"

namespace annulus {
namespace {

using identity::refuse;

constexpr std::string_view kNode = "-node-";
constexpr std::array<std::string_view, 5> kRoles{"worker", "master", "chief", "ps", "evaluator"};
constexpr std::size_t kLongestLabel = 63;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// As a controller writes a number: digits, no leading zero.
bool is_number(std::string_view text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  return digits && (text == "0" || text.front() != '0');
}

int to_index(std::string_view hostname, std::string_view digits) {
  int value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
    refuse("host name '{}': index out of range: a job has fewer pods", printable(hostname));
  return value;
}

std::string job_of(std::string_view hostname, std::string_view job) {
  if (job.empty()) refuse("host name '{}': empty job name in front", printable(hostname));
  return std::string(job);
}

// {job}-{role}-{index}
std::optional<PodName> parse_role(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || !is_number(name.substr(dash + 1))) return std::nullopt;
  const std::string_view front = name.substr(0, dash);
  for (const std::string_view role : kRoles)
    if (ends_with(front, role) && ends_with(front.substr(0, front.size() - role.size()), "-"))
      return PodName{job_of(name, front.substr(0, front.size() - role.size() - 1)),
                     PodName::Pattern::role, std::string(role),
                     to_index(name, name.substr(dash + 1))};
  return std::nullopt;
}

// What only a worker's name has behind its last "-node-": a number, a dash, and the start of
// another one.
bool looks_like_numbers(std::string_view tail) {
  const std::size_t dash = tail.find('-');
  if (dash == std::string_view::npos || !is_number(tail.substr(0, dash))) return false;
  const std::string_view rest = tail.substr(dash + 1);
  return rest.empty() || rest.front() == '-' || std::isdigit(static_cast<unsigned char>(rest[0]));
}

// {job}-node-{replica}-{index}; the last "-node-" counts, a job's own name may hold others.
std::optional<PodName> parse_node(std::string_view name) {
  const std::size_t marker = name.rfind(kNode);
  if (marker == std::string_view::npos) return std::nullopt;
  const std::string_view tail = name.substr(marker + kNode.size());
  if (!looks_like_numbers(tail)) return std::nullopt;
  const std::size_t dash = tail.find('-');
  const std::string_view replica = tail.substr(0, dash), index = tail.substr(dash + 1);
  const bool suffix = index.find('-', 1) != std::string_view::npos;
  if (!is_number(index))
    refuse("host name '{}' is not a worker host name{}: it must end in -node-0-INDEX",
           printable(name), suffix ? " (pod name with suffix?)" : "");

  const std::string job = job_of(name, name.substr(0, marker));
  const int outer = to_index(name, replica), inner = to_index(name, index);
  if (outer > 0 && inner > 0)
    refuse(
        "host name '{}' is pod {} of job {}: Annulus knows one job of many pods "
        "(-node-0-INDEX) or many jobs of one pod (-node-INDEX-0): give --index and --workers",
        printable(name), inner, outer);
  if (outer > 0) return PodName{job, PodName::Pattern::replica, "node", outer};
  return PodName{job, PodName::Pattern::completion, "node", inner};
}

// True for "{job}-no", cut out of "{job}-node-0-1".
bool ends_in_the_middle(std::string_view name) {
  const std::size_t marker = name.rfind(kNode);
  if (marker != std::string_view::npos) {
    const std::string_view tail = name.substr(marker + kNode.size());
    return tail.empty() || is_number(tail);
  }
  for (std::size_t length = kNode.size() - 1; length >= 2; --length)
    if (ends_with(name, kNode.substr(0, length))) return true;
  return false;
}

}  // namespace

std::optional<PodName> parse_pod_name(std::string_view hostname) {
  const std::string_view name = hostname.substr(0, hostname.find('.'));
  if (std::optional<PodName> pod = parse_role(name)) return pod;
  if (std::optional<PodName> pod = parse_node(name)) return pod;
  if (name.size() == kLongestLabel && ends_in_the_middle(name))
    refuse(
        "host name '{}' is not a worker host name; 63 characters: probably cut; give the job a "
        "name of at most 46 characters",
        printable(name));
  return std::nullopt;
}

}  // namespace annulus
