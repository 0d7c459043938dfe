// One POST of a TrainJob's status, over TLS. Invariant: the token goes to nobody but the server
// whose certificate the mounted CA has signed for its name: no proxy, no redirect, no other
// protocol; and it never waits beyond its time. Token and CA are read anew for each POST, as the
// kubelet replaces both. Called by engine/observe/status_reporter.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

namespace annulus {

// What the controller tells the pod: a URL and two files.
struct StatusServer {
  std::string url, ca_file, token_file;
};

struct PostAnswer {
  long code = 0;       // of HTTP; 0: there was no answer
  std::string reason;  // one line; empty: it was taken (200)
  bool sent = true;    // false: the token or the CA's file kept it here

  bool taken() const { return reason.empty(); }
};

// `cancelled` ends it early, within a second or so. Does not throw.
PostAnswer post_status(const StatusServer& server, const std::string& body,
                       std::chrono::milliseconds time_limit, const std::atomic<bool>& cancelled);

}  // namespace annulus
