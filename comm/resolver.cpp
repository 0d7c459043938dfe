// See comm/resolver.h; one server and one batch of names: comm/resolver_batch.h.
#include "comm/resolver.h"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <string_view>

#include "comm/resolv_conf.h"
#include "comm/resolver_batch.h"
#include "kernels/check.h"
#include "kernels/printable.h"

namespace annulus {
namespace {

using std::chrono::milliseconds;
using Status = DnsAnswer::Status;

constexpr std::size_t longest_label = 63, longest_name = 253;  // RFC 1035, 2.3.4

// A server that says nothing for so long is followed by the next, where there is one.
constexpr milliseconds server_patience{2'000};

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw UserError(ExitCode::usage, fmt::format("host name '{}' {}", printable(name), why));
}

bool is_name_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

void check_label(const std::string& name, std::string_view label) {
  if (label.empty()) refuse(name, "has an empty label between its dots");
  if (!std::ranges::all_of(label, is_name_byte))
    refuse(name, "has other characters than letters, digits, '-', '_' and dots");
  if (label.size() > longest_label)
    refuse(name, fmt::format("can never resolve: its label '{}' has {} bytes, DNS allows {}; give "
                             "the job a shorter name",
                             label, label.size(), longest_label));
}

std::vector<DnsServer> connect_servers(const std::string& text) {
  std::vector<DnsServer> servers;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    servers.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return servers;
}

// A line that is no address is passed over, as the C library does.
std::vector<DnsServer> system_servers() {
  std::vector<DnsServer> servers;
  for (const std::string& address : read_resolv_conf().nameservers) {
    try {
      servers.emplace_back(address);
    } catch (const UserError&) {
      continue;
    }
  }
  if (servers.empty()) servers.emplace_back("");
  return servers;
}

// Whether a second server's answer tells more than the first one's.
bool tells_more(const DnsAnswer& answer, const DnsAnswer& before) {
  return before.status == Status::timeout || answer.found() || answer.absent();
}

}  // namespace

struct Resolver::Servers {
  std::vector<DnsServer> all;
  std::size_t preferred = 0;  // asked first: the last one that was not silent
  std::size_t questions = 0;
};

const char* DnsAnswer::words() const {
  switch (status) {
    case Status::found:
      return "found";
    case Status::not_found:
      return "NXDOMAIN";
    case Status::no_data:
      return "no address";
    case Status::server_failure:
      return "SERVFAIL";
    case Status::refused:
      return "REFUSED";
    case Status::timeout:
      break;
  }
  return "no answer";
}

void check_dns_name(const std::string& name) {
  std::string_view rest = name;
  if (rest.ends_with('.')) rest.remove_suffix(1);
  const std::size_t length = rest.size();
  for (;;) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    check_label(name, rest.substr(0, dot));
    if (dot == rest.size()) break;
    rest.remove_prefix(dot + 1);
  }
  if (length > longest_name)
    refuse(name,
           fmt::format("can never resolve: it has {} bytes, DNS allows {}", length, longest_name));
}

Resolver::Resolver(const std::string& servers) : servers_(std::make_unique<Servers>()) {
  servers_->all = servers.empty() ? system_servers() : connect_servers(servers);
}

Resolver::~Resolver() = default;

std::vector<DnsAnswer> Resolver::ask(const std::vector<std::string>& names, Deadline deadline) {
  for (const std::string& name : names) check_dns_name(name);
  std::vector<DnsAnswer> answers(names.size());
  std::vector<std::size_t> open(names.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  const std::size_t count = servers_->all.size(), first = servers_->preferred;
  for (std::size_t turn = 0; turn < count && !open.empty(); ++turn) {
    const std::size_t server = (first + turn) % count;
    const bool last = turn + 1 == count;
    std::vector<std::string> asked;
    for (const std::size_t i : open) asked.push_back(names[i]);
    const std::vector<DnsAnswer> heard = ask_server(
        servers_->all[server], asked, last ? deadline : std::min(deadline, after(server_patience)));
    servers_->questions += asked.size();
    for (std::size_t i = 0; i < heard.size(); ++i)
      if (tells_more(heard[i], answers[open[i]])) answers[open[i]] = heard[i];
    // Whoever was silent is not asked first the next time.
    const bool silent = std::ranges::all_of(
        heard, [](const DnsAnswer& answer) { return answer.status == Status::timeout; });
    if (silent && servers_->preferred == server) servers_->preferred = (server + 1) % count;
    std::erase_if(open, [&](std::size_t i) { return answers[i].found() || answers[i].absent(); });
  }
  return answers;
}

std::vector<std::string> Resolver::in_hosts_file(const std::string& host) const {
  std::vector<std::string> addresses;
  for (const int family : {AF_INET, AF_INET6}) {
    hostent* entry = nullptr;
    if (ares_gethostbyname_file(servers_->all.front().channel(), host.c_str(), family, &entry) !=
        ARES_SUCCESS)
      continue;
    const std::unique_ptr<hostent, decltype(&ares_free_hostent)> owner(entry, ares_free_hostent);
    for (std::string& address : addresses_in(*entry)) addresses.push_back(std::move(address));
  }
  return addresses;
}

std::size_t Resolver::questions() const { return servers_->questions; }

}  // namespace annulus
