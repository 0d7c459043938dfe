// The rules of the rendezvous; see comm/control_admission.h.
#include "comm/control_admission.h"

#include <fmt/format.h>

#include <algorithm>

namespace annulus::control {
namespace {

std::string who(const Hello& hello) { return fmt::format("rank {} on {}", hello.rank, hello.host); }

// The value of a fact, with its quotes; "nothing" where a rank does not tell it.
std::string value_of(const Hello& hello, const std::string& name) {
  const auto found = std::find_if(hello.facts.begin(), hello.facts.end(),
                                  [&](const Fact& fact) { return fact.name == name; });
  return found == hello.facts.end() ? "nothing" : fmt::format("'{}'", found->value);
}

// Every fact's name once, with its rule, in the order in which the ranks tell them.
std::vector<Fact> all_facts(const std::vector<Hello>& ranks) {
  std::vector<Fact> all;
  for (const Hello& hello : ranks)
    for (const Fact& fact : hello.facts)
      if (std::none_of(all.begin(), all.end(),
                       [&](const Fact& known) { return known.name == fact.name; }))
        all.push_back(fact);
  return all;
}

// "rank 0 on a has model 'mlp', rank 2 on b has 'resnet8'", or "" where all agree.
std::string disagreement(const std::vector<Hello>& ranks, const std::string& name) {
  const std::string first = value_of(ranks.front(), name);
  for (const Hello& other : ranks)
    if (const std::string value = value_of(other, name); value != first)
      return fmt::format("{} has {} {}, {} has {}", who(ranks.front()), name, first, who(other),
                         value);
  return "";
}

// "rank 0 on a and rank 1 on a both have device 'GPU-5'", or "" where all differ.
std::string coincidence(const std::vector<Hello>& ranks, const std::string& name) {
  for (auto first = ranks.begin(); first != ranks.end(); ++first)
    for (auto second = ranks.begin(); second != first; ++second)
      if (value_of(*first, name) == value_of(*second, name))
        return fmt::format("{} and {} both have {} {}", who(*second), who(*first), name,
                           value_of(*first, name));
  return "";
}

Refusal usage(const std::string& reason, const char* fix) {
  return {ExitCode::usage, fmt::format("{}: {}", reason, fix)};
}

}  // namespace

std::optional<Refusal> refuse_hello(const Hello& hello, const Expectation& expected) {
  const auto refused = [&](const std::string& reason) {
    return Refusal{ExitCode::refused, fmt::format("{} is refused: {}", who(hello), reason)};
  };
  if (hello.job != expected.job)
    return refused(
        fmt::format("it belongs to job '{}', rank 0 to job '{}': end the older run, or "
                    "give each its own rendezvous port",
                    hello.job, expected.job));
  if (hello.world != static_cast<std::uint64_t>(expected.world))
    return refused(fmt::format(
        "its world size is {}, rank 0's is {}: start all ranks with the same world size",
        hello.world, expected.world));
  if (hello.rank >= hello.world)
    return refused(
        fmt::format("ranks of a run of {} count from 0 to {}", hello.world, hello.world - 1));
  return std::nullopt;
}

Refusal refuse_second_claim(const Hello& first, const Hello& second) {
  return {ExitCode::refused,
          fmt::format("{} is refused: another process on {} is rank {} already: give each process "
                      "its own rank",
                      who(second), first.host, first.rank)};
}

FactCheck compare_facts(const std::vector<Hello>& ranks) {
  FactCheck check;
  for (const Fact& fact : all_facts(ranks)) {
    if (fact.rule == Fact::Rule::must_agree || fact.rule == Fact::Rule::should_agree) {
      const std::string reason = disagreement(ranks, fact.name);
      if (reason.empty()) continue;
      if (fact.rule == Fact::Rule::should_agree)
        check.warnings.push_back(reason);
      else
        check.refusal = usage(reason, "start all ranks with the same program and options");
    } else if (fact.rule == Fact::Rule::must_differ) {
      const std::string reason = coincidence(ranks, fact.name);
      if (!reason.empty()) check.refusal = usage(reason, "give each rank its own");
    }
    if (check.refusal) break;
  }
  return check;
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) list += i + 1 == ranks.size() ? " and " : ", ";
    list += std::to_string(ranks[i]);
  }
  return list;
}

}  // namespace annulus::control
