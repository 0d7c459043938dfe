// DNS as discovery needs it: A and AAAA of absolute names over c-ares, with the ways to fail told
// apart. Invariant: no question outlives its deadline, and none is completed by a search domain (a
// wildcard in one would answer for every name). Called by comm/discovery and comm/host_lookup.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/socket.h"

namespace annulus {

struct DnsAnswer {
  enum class Status { found, not_found, no_data, server_failure, refused, timeout };
  Status status = Status::timeout;
  std::vector<std::string> addresses;  // numeric, IPv4 first; not empty where found

  bool found() const { return status == Status::found; }
  const char* words() const;  // "NXDOMAIN", "SERVFAIL", "no address", "REFUSED", "no answer"
};

class Resolver {
 public:
  // Asks the servers of /etc/resolv.conf; `servers` ("127.0.0.1:5353,…") instead, for tests.
  explicit Resolver(const std::string& servers = "");
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // All at once; answers in the order of the names. Names are absolute with or without their
  // trailing dot. found beats everything: an address of one family is enough. A name that can be
  // none (a label above 63 bytes) throws UserError (usage) with the label and its length.
  std::vector<DnsAnswer> ask(const std::vector<std::string>& names, Deadline deadline);

  std::size_t questions() const;  // so far, A and AAAA of one name counted as one

 private:
  struct Channel;
  std::unique_ptr<Channel> channel_;
};

}  // namespace annulus
