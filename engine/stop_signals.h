// SIGINT and SIGTERM. Until training begins, and on a second signal (not within a second of the
// first: timeout(1) sends two in a row), they end the process at once with 128 plus the signal's
// number; in between they are only noted, and the ranks agree on the update after which they stop.
// As process 1 of a container nothing would end us otherwise: the kernel's default does not hold
// there. Called by `annulus train`,
// `annulus topology` and the trainer.
#pragma once

#include <optional>

namespace annulus {

// From here on both signals have an effect, whatever the parent had set. Called on the main thread:
// it is the one that the kernel gives the first signal of a process to, and a second one ends it.
void install_stop_signals();

// While one lives the first signal is only noted; one within another sees what the outer noted.
class DeferredStop {
 public:
  DeferredStop();
  ~DeferredStop();
  DeferredStop(const DeferredStop&) = delete;
  DeferredStop& operator=(const DeferredStop&) = delete;

  std::optional<int> signal() const;  // SIGINT or SIGTERM, once it has come
};

}  // namespace annulus
