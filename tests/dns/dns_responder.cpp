// See dns_responder.h. The wire format is RFC 1035, section 4.
#include "tests/dns/dns_responder.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <optional>
#include <system_error>

namespace annulus::test {
namespace {

using Bytes = std::vector<unsigned char>;
using Code = DnsStep::Code;

constexpr std::size_t header_bytes = 12, largest_message = 512;
constexpr std::uint16_t type_a = 1, type_cname = 5, type_aaaa = 28, class_in = 1;
constexpr std::uint32_t time_to_live = 1;  // seconds
constexpr unsigned char answer_flag = 0x80, authoritative_flag = 0x04, recursion_flag = 0x80;

unsigned char response_code(Code code) {
  switch (code) {
    case Code::nxdomain:
      return 3;
    case Code::servfail:
      return 2;
    case Code::refused:
      return 5;
    default:
      return 0;
  }
}

void put_16(Bytes& message, std::uint16_t value) {
  message.push_back(static_cast<unsigned char>(value >> 8));
  message.push_back(static_cast<unsigned char>(value));
}

void put_32(Bytes& message, std::uint32_t value) {
  put_16(message, static_cast<std::uint16_t>(value >> 16));
  put_16(message, static_cast<std::uint16_t>(value));
}

Bytes name_bytes(std::string_view name) {
  Bytes bytes;
  while (!name.empty()) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    bytes.push_back(static_cast<unsigned char>(dot));
    bytes.insert(bytes.end(), name.begin(), name.begin() + static_cast<std::ptrdiff_t>(dot));
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  bytes.push_back(0);
  return bytes;
}

Bytes address_bytes(int family, const std::string& text) {
  Bytes bytes(family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr));
  inet_pton(family, text.c_str(), bytes.data());
  return bytes;
}

void put_record(Bytes& message, const Bytes& owner, std::uint16_t type, const Bytes& data) {
  message.insert(message.end(), owner.begin(), owner.end());
  put_16(message, type);
  put_16(message, class_in);
  put_32(message, time_to_live);
  put_16(message, static_cast<std::uint16_t>(data.size()));
  message.insert(message.end(), data.begin(), data.end());
}

struct DnsQuestion {
  std::string name;  // lower case
  std::uint16_t type = 0;
  std::size_t end = 0;  // of the question section
};

std::optional<DnsQuestion> parse_question(std::string_view request) {
  DnsQuestion question;
  std::size_t at = header_bytes;
  for (;;) {
    if (at >= request.size()) return std::nullopt;
    const std::size_t length = static_cast<unsigned char>(request[at++]);
    if (length == 0) break;
    if (length > 63 || at + length > request.size()) return std::nullopt;
    if (!question.name.empty()) question.name += '.';
    for (const char byte : request.substr(at, length))
      question.name += static_cast<char>(std::tolower(static_cast<unsigned char>(byte)));
    at += length;
  }
  if (at + 4 > request.size()) return std::nullopt;
  question.type = static_cast<std::uint16_t>(static_cast<unsigned char>(request[at]) << 8 |
                                             static_cast<unsigned char>(request[at + 1]));
  question.end = at + 4;
  return question;
}

sockaddr_storage socket_address(const std::string& numeric) {
  sockaddr_storage address{};
  if (numeric.find(':') != std::string::npos) {
    address.ss_family = AF_INET6;
    inet_pton(AF_INET6, numeric.c_str(), &reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr);
  } else {
    address.ss_family = AF_INET;
    inet_pton(AF_INET, numeric.c_str(), &reinterpret_cast<sockaddr_in*>(&address)->sin_addr);
  }
  return address;
}

[[noreturn]] void throw_system(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

std::vector<DnsStep> published(const std::string& ipv4, std::chrono::milliseconds from) {
  DnsStep absent, there;
  absent.code = Code::nxdomain;
  there.from = from;
  there.ipv4 = {ipv4};
  return {absent, there};
}

std::vector<DnsStep> always(Code code) {
  DnsStep step;
  step.code = code;
  return {step};
}

DnsResponder::DnsResponder(const DnsZone& zone, const std::string& address)
    : address_(address), started_(std::chrono::steady_clock::now()) {
  for (const auto& [name, steps] : zone) publish(name, steps);
  sockaddr_storage bound = socket_address(address);
  socket_ = socket(bound.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) throw_system("socket");
  socklen_t length = sizeof bound;
  if (bind(socket_, reinterpret_cast<sockaddr*>(&bound), length) != 0) {
    close(socket_);
    throw_system("bind");
  }
  getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &length);
  port_ = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);  // at sin6_port's place
  // Many workers ask at once; root may go beyond the system's limit.
  const int buffer = 8 << 20;
  if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0)
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  thread_ = std::thread([this] { serve(); });
}

DnsResponder::~DnsResponder() {
  stopped_ = true;
  thread_.join();
  close(socket_);
}

std::string DnsResponder::server() const {
  return address_.find(':') == std::string::npos ? fmt::format("{}:{}", address_, port_)
                                                 : fmt::format("[{}]:{}", address_, port_);
}

void DnsResponder::publish(const std::string& name, std::vector<DnsStep> steps) {
  const std::lock_guard lock(mutex_);
  if (name.starts_with("*."))
    wildcards_.emplace_back(name.substr(1), std::move(steps));
  else
    names_[name].steps = std::move(steps);
}

void DnsResponder::clear_counts() {
  const std::lock_guard lock(mutex_);
  for (auto& entry : names_) entry.second.asked = 0;
}

int DnsResponder::questions(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? 0 : found->second.asked;
}

int DnsResponder::questions() const {
  const std::lock_guard lock(mutex_);
  int sum = 0;
  for (const auto& entry : names_) sum += entry.second.asked;
  return sum;
}

std::vector<std::string> DnsResponder::names_asked() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> asked;
  for (const auto& entry : names_)
    if (entry.second.asked > 0) asked.push_back(entry.first);
  return asked;
}

// A name that is not listed stands under the first wildcard that fits, else for itself: NXDOMAIN.
DnsResponder::Name& DnsResponder::look_up(const std::string& name) {
  const auto [entry, added] = names_.try_emplace(name);
  if (added)
    for (const auto& [suffix, steps] : wildcards_)
      if (name.ends_with(suffix)) {
        entry->second.steps = steps;
        break;
      }
  return entry->second;
}

// 0 where there is no reply to send.
std::size_t DnsResponder::answer(std::string_view request, Bytes& reply) {
  const std::optional<DnsQuestion> question = parse_question(request);
  if (!question) return 0;
  const std::lock_guard lock(mutex_);
  Name& name = look_up(question->name);
  if (question->type == type_a) ++name.asked;
  DnsStep absent;
  absent.code = Code::nxdomain;
  const DnsStep* step = &absent;
  const auto now = std::chrono::steady_clock::now() - started_;
  for (const DnsStep& candidate : name.steps)
    if (now >= candidate.from) step = &candidate;
  if (!step->cycle.empty()) step = &step->cycle[name.cycled++ % step->cycle.size()];
  if (step->code == Code::drop) return 0;

  reply.assign(request.begin(), request.begin() + static_cast<std::ptrdiff_t>(question->end));
  reply[2] = answer_flag | authoritative_flag | (request[2] & 1);
  reply[3] = recursion_flag | response_code(step->code);
  std::fill(reply.begin() + 6, reply.begin() + header_bytes, 0);
  Bytes owner = {0xc0, header_bytes};  // the question's name
  std::uint8_t records = 0;
  if (step->code == Code::answer && !step->alias.empty()) {
    put_record(reply, owner, type_cname, name_bytes(step->alias));
    owner = name_bytes(step->alias);
    ++records;
  }
  const bool ipv6 = question->type == type_aaaa;
  if (step->code == Code::answer && (ipv6 || question->type == type_a))
    for (const std::string& address : ipv6 ? step->ipv6 : step->ipv4) {
      put_record(reply, owner, question->type, address_bytes(ipv6 ? AF_INET6 : AF_INET, address));
      ++records;
    }
  reply[7] = records;
  return reply.size();
}

void DnsResponder::serve() {
  std::array<char, largest_message> request{};
  Bytes reply;
  while (!stopped_) {
    pollfd entry{socket_, POLLIN, 0};
    if (poll(&entry, 1, 50) <= 0) continue;  // looks whether it is stopped
    for (;;) {
      sockaddr_storage peer{};
      socklen_t length = sizeof peer;
      const ssize_t received = recvfrom(socket_, request.data(), request.size(), MSG_DONTWAIT,
                                        reinterpret_cast<sockaddr*>(&peer), &length);
      if (received < 0) break;
      const std::size_t bytes = answer({request.data(), static_cast<std::size_t>(received)}, reply);
      if (bytes > 0)
        sendto(socket_, reply.data(), bytes, 0, reinterpret_cast<sockaddr*>(&peer), length);
    }
  }
}

}  // namespace annulus::test
