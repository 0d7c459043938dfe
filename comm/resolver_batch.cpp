// See comm/resolver_batch.h.
#include "comm/resolver_batch.h"

#include <ares_nameser.h>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/check.h"

namespace annulus {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Status = DnsAnswer::Status;

// A datagram that is lost is sent again after 0.5, 1, 2, 4 … s; the batch's deadline ends it.
constexpr int first_retry_milliseconds = 500, most_tries = 12;

// Names under way at once: as many datagrams as the smallest usual socket buffer holds.
constexpr std::size_t most_under_way = 64;

// Once every name has an address, the other family's answers are waited for no longer than this:
// some servers never answer AAAA.
constexpr milliseconds other_family_wait{100};

constexpr std::array<ns_type, 2> families = {ns_t_a, ns_t_aaaa};

Status status_of(int ares_status) {
  switch (ares_status) {
    case ARES_SUCCESS:
      return Status::found;
    case ARES_ENODATA:
      return Status::no_data;
    case ARES_ENOTFOUND:
      return Status::not_found;
    case ARES_EREFUSED:
      return Status::refused;
    case ARES_ESERVFAIL:
    case ARES_EFORMERR:
    case ARES_ENOTIMP:
    case ARES_EBADRESP:
      return Status::server_failure;
    default:
      return Status::timeout;
  }
}

// The answer to one question. A name with aliases (CNAME) has the addresses they lead to.
DnsAnswer parse_answer(ns_type family, const unsigned char* message, int length) {
  hostent* host = nullptr;
  const int status = family == ns_t_a
                         ? ares_parse_a_reply(message, length, &host, nullptr, nullptr)
                         : ares_parse_aaaa_reply(message, length, &host, nullptr, nullptr);
  if (status != ARES_SUCCESS) return {status_of(status), {}};
  const std::unique_ptr<hostent, decltype(&ares_free_hostent)> owner(host, ares_free_hostent);
  DnsAnswer answer{Status::found, addresses_in(*host)};
  if (answer.addresses.empty()) answer.status = Status::no_data;
  return answer;
}

// What A and AAAA say together. An address decides; so does NXDOMAIN, which is about the name and
// not the family; else what failed may hide an address, so no_data needs both.
DnsAnswer joined(const DnsAnswer& ipv4, const DnsAnswer& ipv6) {
  DnsAnswer answer;
  for (const Status status : {Status::found, Status::not_found, Status::refused,
                              Status::server_failure, Status::timeout, Status::no_data})
    if (ipv4.status == status || ipv6.status == status) {
      answer.status = status;
      break;
    }
  answer.addresses = ipv4.addresses;
  answer.addresses.insert(answer.addresses.end(), ipv6.addresses.begin(), ipv6.addresses.end());
  return answer;
}

class Batch {
 public:
  Batch(ares_channel channel, const std::vector<std::string>& names)
      : channel_(channel), names_(names), entries_(names.size()) {}
  // c-ares calls back for each question that is still under way, into this batch.
  ~Batch() { ares_cancel(channel_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  std::vector<DnsAnswer> run(Deadline deadline) {
    bool all_decided = false;
    for (start_more(); questions_ > 0 && steady_clock::now() < deadline; start_more()) {
      if (!all_decided && undecided_ == 0) {
        all_decided = true;
        deadline = std::min(deadline, after(other_family_wait));
      }
      wait_and_process(deadline);
    }
    std::vector<DnsAnswer> answers;
    for (const Entry& entry : entries_)
      answers.push_back(joined(entry.questions[0].answer, entry.questions[1].answer));
    return answers;
  }

 private:
  struct Entry;
  struct Question {
    Batch* batch = nullptr;
    Entry* entry = nullptr;
    ns_type family = ns_t_a;
    DnsAnswer answer;
  };
  struct Entry {
    std::array<Question, families.size()> questions;
    std::size_t unanswered = 0;
    bool decided = false;  // found in one family, or answered in both
  };

  void start_more() {
    while (started_ < names_.size() && undecided_ < most_under_way) {
      Entry& entry = entries_[started_];
      const std::string& name = names_[started_++];
      ++undecided_;
      entry.unanswered = families.size();
      questions_ += families.size();
      for (std::size_t i = 0; i < families.size(); ++i) {
        entry.questions[i] = {this, &entry, families[i], {}};
        ares_query(channel_, name.c_str(), ns_c_in, families[i], &Batch::on_answer,
                   &entry.questions[i]);
      }
    }
  }

  static void on_answer(void* argument, int status, int /*timeouts*/, unsigned char* message,
                        int length) noexcept {
    Question& question = *static_cast<Question*>(argument);
    question.answer = status == ARES_SUCCESS ? parse_answer(question.family, message, length)
                                             : DnsAnswer{status_of(status), {}};
    question.batch->answered(question);
  }

  void answered(const Question& question) {
    --questions_;
    Entry& entry = *question.entry;
    --entry.unanswered;
    if (entry.decided || (entry.unanswered > 0 && !question.answer.found())) return;
    entry.decided = true;
    --undecided_;
  }

  void wait_and_process(Deadline deadline) {
    std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
    const int wanted = ares_getsock(channel_, sockets.data(), ARES_GETSOCK_MAXNUM);
    std::array<pollfd, ARES_GETSOCK_MAXNUM> entries{};
    nfds_t count = 0;
    for (int i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
      const int events = (ARES_GETSOCK_READABLE(wanted, i) ? POLLIN : 0) |
                         (ARES_GETSOCK_WRITABLE(wanted, i) ? POLLOUT : 0);
      if (events != 0) entries[count++] = {sockets[i], static_cast<short>(events), 0};
    }
    if (poll(entries.data(), count, milliseconds_until(deadline)) <= 0) {
      ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);  // its own timers
      return;
    }
    for (nfds_t i = 0; i < count; ++i) {
      const bool in = (entries[i].revents & ~POLLOUT) != 0, out = entries[i].revents & POLLOUT;
      if (in || out)
        ares_process_fd(channel_, in ? entries[i].fd : ARES_SOCKET_BAD,
                        out ? entries[i].fd : ARES_SOCKET_BAD);
    }
  }

  // Until c-ares wants to send something again, or the deadline.
  int milliseconds_until(Deadline deadline) const {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    const auto bounded = std::clamp(left, milliseconds{0}, milliseconds{first_retry_milliseconds});
    timeval most{.tv_sec = 0, .tv_usec = static_cast<suseconds_t>(bounded.count() * 1000)};
    timeval next{};
    const timeval* wait = ares_timeout(channel_, &most, &next);
    return static_cast<int>(wait->tv_sec * 1000 + (wait->tv_usec + 999) / 1000);
  }

  ares_channel channel_;
  const std::vector<std::string>& names_;
  std::vector<Entry> entries_;  // of fixed size: c-ares holds pointers into it
  std::size_t started_ = 0, undecided_ = 0, questions_ = 0;
};

}  // namespace

DnsServer::DnsServer(const std::string& address) {
  static const int library = ares_library_init(ARES_LIB_INIT_ALL);
  ares_options options{};
  options.flags = ARES_FLAG_NOCHECKRESP;  // SERVFAIL and REFUSED are answers, not silence
  options.timeout = first_retry_milliseconds;
  options.tries = most_tries;
  const int status = library != ARES_SUCCESS
                         ? library
                         : ares_init_options(&channel_, &options,
                                             ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
  if (status != ARES_SUCCESS)
    throw UserError(ExitCode::internal, fmt::format("c-ares: {}", ares_strerror(status)));
  if (address.empty() || ares_set_servers_ports_csv(channel_, address.c_str()) == ARES_SUCCESS)
    return;
  ares_destroy(channel_);
  throw UserError(
      ExitCode::usage,
      fmt::format("DNS server '{}' is no address such as 10.96.0.10, fd00::a, [fd00::a]:53",
                  address));
}

DnsServer::DnsServer(DnsServer&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)) {}

DnsServer::~DnsServer() {
  if (channel_) ares_destroy(channel_);
}

std::vector<DnsAnswer> ask_server(const DnsServer& server, const std::vector<std::string>& names,
                                  Deadline deadline) {
  return Batch(server.channel(), names).run(deadline);
}

std::vector<std::string> addresses_in(const hostent& host) {
  std::vector<std::string> addresses;
  for (char** bytes = host.h_addr_list; *bytes; ++bytes) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    addresses.emplace_back(inet_ntop(host.h_addrtype, *bytes, text.data(), text.size()));
  }
  return addresses;
}

}  // namespace annulus
