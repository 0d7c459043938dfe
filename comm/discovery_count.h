// How many workers DNS shows, where no launcher tells it: the custom runtime looks up index 0, 1, 2
// … until the first name that does not resolve, and believes a number it sees twice; here in few
// questions, and a failure of DNS is not the end of the list. Called by comm/discovery.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/discovery_names.h"
#include "comm/discovery_pace.h"
#include "comm/resolver.h"

namespace annulus {

// What one round saw.
struct WorkerCount {
  std::optional<int> workers;  // 0 … workers-1 are there as far as was asked, the next is absent
  int missing = 0;             // without a number: the index that is in the way; with: the next one
  DnsAnswer answer;            // of that one
};

// One round of at most `kMostQuestions` questions: galloping from the own index to the first absent
// one, bisection between, the rest of the questions for holes below.
class CountingRound {
 public:
  static constexpr int kMostQuestions = 40;

  CountingRound(Resolver& resolver, WorkerNames& names, int own, Deadline deadline)
      : resolver_(resolver), names_(names), own_(own), deadline_(deadline) {}

  // Throws UserError (usage) where a wildcard answers for every index.
  // `expected`: the last round's number, looked at first; 0 where there was none. `turn`: which of
  // the many lower indices are asked this time.
  WorkerCount run(int expected, int turn);

 private:
  bool there(int index) { return see(index).found(); }
  const DnsAnswer& see(int index);
  void look(const std::vector<int>& indices);
  void choose_pattern();
  int first_absent(int expected);
  std::vector<int> lower_sample(int end, int turn) const;

  Resolver& resolver_;
  WorkerNames& names_;
  int own_;
  Deadline deadline_;
  int questions_ = 0;
  std::map<int, DnsAnswer> seen_;
};

// Until two equal rounds at least `settle` apart show at least `min_workers`. Throws PeerError
// (rendezvous) at the deadline, and what a round does.
int count_workers(Resolver& resolver, WorkerNames& names, int own, const DiscoveryOptions& options,
                  DiscoveryPace& pace);

}  // namespace annulus
