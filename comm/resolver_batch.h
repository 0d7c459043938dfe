// One DNS server and one batch of names asked of it: the part of the resolver that speaks c-ares.
// Invariant: a batch ends by its deadline and leaves no question behind. Called by comm/resolver.
#pragma once

#include <ares.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/resolver.h"

namespace annulus {

// A c-ares channel to one server, so that which server answered what is known. c-ares opens a
// socket while questions are under way, and none in between.
class DnsServer {
 public:
  explicit DnsServer(
      const std::string& address);  // "10.96.0.10", "::1", "[::1]:5353"; "": c-ares's
  DnsServer(DnsServer&& other) noexcept;
  ~DnsServer();

  ares_channel channel() const { return channel_; }

 private:
  ares_channel channel_ = nullptr;
};

// A and AAAA of all names; what has no answer by the deadline is a timeout.
std::vector<DnsAnswer> ask_server(const DnsServer& server, const std::vector<std::string>& names,
                                  Deadline deadline);

// Numeric, of one family's hostent as c-ares fills it.
std::vector<std::string> addresses_in(const hostent& host);

}  // namespace annulus
