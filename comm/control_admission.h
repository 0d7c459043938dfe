// Who belongs to the run: the rules of the rendezvous, as pure functions over hellos. Invariant:
// each refusal names the rank and shows both values. Called by comm/control_hub.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/control_messages.h"

namespace annulus::control {

// What rank 0 expects of a hello.
struct Expectation {
  std::string job;
  std::string generation;
  int world = 1;
  int local_ranks = 1;
  bool counted = false;  // the number of workers was found in DNS

  int nodes() const { return (world + local_ranks - 1) / local_ranks; }
};

// A reason not to let this hello in, whoever else has come. `membership` concerns every rank.
std::optional<Refusal> refuse_hello(const Hello& hello, const Expectation& expected);

// The refusal of a second process that claims a rank, before the start and in a run.
Refusal refuse_second_claim(const Hello& first, const Hello& second);
Refusal refuse_second_life(const Hello& first, const Hello& second);

// Why all must end when a second process claims the rank of a peer that does not answer.
std::string restarted(const Hello& second);  // "index 1 restarted on host-b: a different incar…"

struct FactCheck {
  std::optional<Refusal> refusal;     // for all ranks
  std::vector<std::string> warnings;  // for rank 0's stderr
};

// Compares the facts of all ranks (in rank order), each by its rule.
FactCheck compare_facts(const std::vector<Hello>& ranks);

// "rank 2", "ranks 2, 5 and 7"; of many the first and how many more.
std::string rank_list(const std::vector<int>& ranks);

}  // namespace annulus::control
