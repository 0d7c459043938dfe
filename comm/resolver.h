// DNS as discovery needs it: A and AAAA of absolute names over c-ares, with the ways to fail told
// apart. Invariant: no question outlives its deadline, and none is completed by a search domain (a
// wildcard in one would answer for every name). A server that fails or is silent is followed by the
// next, and one that answered is asked first from then on. Called by comm/discovery and
// comm/host_lookup.
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
  // The name's absence is DNS's own word: not a failure that may hide an address.
  bool absent() const { return status == Status::not_found || status == Status::no_data; }
  const char* words()
      const;  // "found", "NXDOMAIN", "no address", "SERVFAIL", "REFUSED", "no answer"
};

// Throws UserError (usage) for a name that DNS cannot hold: a label above 63 bytes (it is told with
// its length), more than 253 bytes, an empty label, other bytes than letters, digits, '-' and '_'.
void check_dns_name(const std::string& name);

// One thread at a time.
class Resolver {
 public:
  // Asks the servers of /etc/resolv.conf; `servers` ("127.0.0.1:5353,[::1]:5353") instead, for
  // tests. Throws UserError (usage) for servers that are none.
  explicit Resolver(const std::string& servers = "");
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Many at once; answers in the order of the names. Names are absolute with or without their
  // trailing dot. found beats everything: an address of one family is enough. Throws what
  // check_dns_name does, before anything is asked.
  std::vector<DnsAnswer> ask(const std::vector<std::string>& names, Deadline deadline);

  // What /etc/hosts says, IPv4 first; no question to a server.
  std::vector<std::string> in_hosts_file(const std::string& host) const;

  std::size_t questions() const;  // so far, A and AAAA of one name counted as one

 private:
  struct Servers;
  std::unique_ptr<Servers> servers_;
};

}  // namespace annulus
