// A DNS server on loopback whose answers follow a timeline, for tests and benches of discovery:
// UDP, A and AAAA, every way to fail, wildcards. Invariant: a name that the zone does not list is
// NXDOMAIN, and every question that arrives is counted. Used by tests/comm and bench/rendezvous.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace annulus::test {

// What a name answers from `from` on, counted from the responder's start.
struct DnsStep {
  enum class Code { answer, nxdomain, servfail, refused, no_data, drop };
  std::chrono::milliseconds from{0};
  Code code = Code::answer;
  std::vector<std::string> ipv4, ipv6;  // numeric
  std::string alias;                    // a CNAME in front of the addresses
  std::vector<DnsStep> cycle;           // one after the other, a question each, instead
};

// Lower-case names without a trailing dot, or "*.suffix"; steps in the order of `from`.
using DnsZone = std::map<std::string, std::vector<DnsStep>>;

// A name that is there from `from` on.
std::vector<DnsStep> published(const std::string& ipv4,
                               std::chrono::milliseconds from = std::chrono::milliseconds{0});
std::vector<DnsStep> always(DnsStep::Code code);

class DnsResponder {
 public:
  // `address` is numeric; any free port. Throws std::system_error where there is no such address.
  explicit DnsResponder(const DnsZone& zone, const std::string& address = "127.0.0.1");
  ~DnsResponder();
  DnsResponder(const DnsResponder&) = delete;
  DnsResponder& operator=(const DnsResponder&) = delete;

  std::string server() const;  // "127.0.0.1:41000", "[::1]:41000", as Resolver takes it

  void publish(const std::string& name, std::vector<DnsStep> steps);  // while it runs
  void clear_counts();

  int questions(const std::string& name) const;  // of one family: A
  int questions() const;                         // of type A, over all names
  std::vector<std::string> names_asked() const;

 private:
  struct Name {
    std::vector<DnsStep> steps;
    std::size_t cycled = 0;
    int asked = 0;
  };
  void serve();
  std::size_t answer(std::string_view request, std::vector<unsigned char>& reply);
  Name& look_up(const std::string& name);

  int socket_ = -1;
  std::uint16_t port_ = 0;
  std::string address_;
  std::chrono::steady_clock::time_point started_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Name> names_;
  std::vector<std::pair<std::string, std::vector<DnsStep>>> wildcards_;  // ".suffix"
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace annulus::test
