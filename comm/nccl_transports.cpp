// See nccl_transports.h.
#include "comm/nccl_transports.h"

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string_view>

#include "comm/nccl_log_file.h"

namespace annulus {
namespace {

constexpr std::string_view kSockets = "NET/Socket";

// Of "P2P/CUMEM", "P2P/IPC/read", "SHM/direct/direct", "NET/IB/3/GDRDMA/Shared", what matters: how,
// by which network, and whether the network reads device memory itself.
std::string short_name(const std::string& way) {
  std::istringstream parts(way);
  std::string kind, how;
  std::getline(parts, kind, '/');
  std::getline(parts, how, '/');
  if (kind == "SHM" || how.empty()) return kind;
  const bool direct = kind == "NET" && way.find("/GDRDMA") != std::string::npos;
  return fmt::format("{}/{}{}", kind, how, direct ? "/GDRDMA" : "");
}

}  // namespace

void NcclTransports::read_line(const std::string& line) {
  static const std::regex sends(
      R"(NCCL INFO Channel \d+(?:/\d+)? : (\d{1,9})\[[^\]]*\] -> (\d{1,9})\[[^\]]*\] (?:\[send\] )?via (.*\S))");
  std::smatch found;
  if (std::regex_search(line, found, sends))
    links_[short_name(found[3])].emplace(std::stoi(found[1]), std::stoi(found[2]));
}

NcclTransports NcclTransports::read(std::istream& log) {
  NcclTransports transports;
  for (std::string line; std::getline(log, line);) transports.read_line(line);
  return transports;
}

NcclTransports NcclTransports::of_this_process() {
  std::ifstream log(nccl_log_file());
  return read(log);
}

NcclTransports NcclTransports::parse(const std::string& text) {
  NcclTransports transports;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int from = 0, to = 0;
    std::string name;
    if (words >> from >> to && std::getline(words >> std::ws, name))
      transports.links_[name].emplace(from, to);
  }
  return transports;
}

std::string NcclTransports::text() const {
  std::string text;
  for (const auto& [name, links] : links_)
    for (const auto& [from, to] : links) text += fmt::format("{} {} {}\n", from, to, name);
  return text;
}

void NcclTransports::add(const NcclTransports& others) {
  for (const auto& [name, links] : others.links_) links_[name].insert(links.begin(), links.end());
}

bool NcclTransports::uses_sockets() const { return links_.contains(std::string(kSockets)); }

std::string NcclTransports::describe() const {
  std::string words;
  for (const auto& [name, links] : links_)
    words += words.empty() ? fmt::format("{} link{} over {}", links.size(),
                                         links.size() == 1 ? "" : "s", name)
                           : fmt::format(", {} over {}", links.size(), name);
  return words;
}

}  // namespace annulus
