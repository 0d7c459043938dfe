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
  int world = 1;
};

// A reason not to let this hello in, whoever else has come.
std::optional<Refusal> refuse_hello(const Hello& hello, const Expectation& expected);

// The refusal of a second process that claims a rank.
Refusal refuse_second_claim(const Hello& first, const Hello& second);

struct FactCheck {
  std::optional<Refusal> refusal;     // for all ranks
  std::vector<std::string> warnings;  // for rank 0's stderr
};

// Compares the facts of all ranks (in rank order), each by its rule.
FactCheck compare_facts(const std::vector<Hello>& ranks);

// "rank 2" or "ranks 2, 5 and 7".
std::string rank_list(const std::vector<int>& ranks);

}  // namespace annulus::control
