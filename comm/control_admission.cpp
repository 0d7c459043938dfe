// The rules of the rendezvous; see comm/control_admission.h.
#include "comm/control_admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace annulus::control {
namespace {

constexpr std::size_t most_listed = 8;

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
  std::unordered_map<std::string, const Hello*> first_with;
  for (const Hello& hello : ranks) {
    const auto [found, is_new] = first_with.emplace(value_of(hello, name), &hello);
    if (!is_new)
      return fmt::format("{} and {} both have {} {}", who(*found->second), who(hello), name,
                         found->first);
  }
  return "";
}

Refusal usage(const std::string& reason, const char* fix) {
  return {ExitCode::usage, fmt::format("{}: {}", reason, fix)};
}

// What two processes can claim: "index 1", or "rank 3 of index 1" where a node has several ranks.
std::string seat(const Hello& hello) {
  return hello.local_ranks == 1 ? fmt::format("index {}", hello.rank)
                                : fmt::format("rank {} of index {}", hello.rank, hello.node);
}

Refusal late_joiner(const Hello& hello, const Expectation& expected) {
  const std::uint64_t nodes = hello.world / hello.local_ranks;
  return {ExitCode::membership,
          fmt::format("the set of workers has changed: {} is index {} of {} workers, worker 0 "
                      "counted {}: start again when all pods are there, or tell their number by "
                      "--nodes",
                      who(hello), hello.node, nodes, expected.nodes())};
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
  if (hello.generation != expected.generation)
    return refused(fmt::format(
        "it belongs to generation '{}', rank 0 to '{}': an older or newer life of the job, which "
        "must end before this one can start",
        hello.generation, expected.generation));
  if (hello.local_ranks != static_cast<std::uint64_t>(expected.local_ranks))
    return refused(fmt::format(
        "its node {} has {} ranks, rank 0's has {}: start the same number of ranks on every node",
        hello.node, hello.local_ranks, expected.local_ranks));
  if (hello.world != static_cast<std::uint64_t>(expected.world))
    return expected.counted ? late_joiner(hello, expected)
                            : refused(fmt::format("its world size is {}, rank 0's is {}: start all "
                                                  "ranks with the same world size",
                                                  hello.world, expected.world));
  if (hello.rank >= hello.world)
    return expected.counted ? late_joiner(hello, expected)
                            : refused(fmt::format("ranks of a run of {} count from 0 to {}",
                                                  hello.world, hello.world - 1));
  return std::nullopt;
}

Refusal refuse_second_claim(const Hello& first, const Hello& second) {
  return {ExitCode::refused,
          fmt::format("{} is refused: {} already joined, from {}: give each worker its own index",
                      who(second), seat(second), first.host)};
}

Refusal refuse_second_life(const Hello& first, const Hello& second) {
  return {ExitCode::refused,
          fmt::format("{} is refused: {}, while the first, on {}, is still in the run: give each "
                      "worker its own index, or end the whole run before it starts again",
                      who(second), restarted(second), first.host)};
}

std::string restarted(const Hello& second) {
  return fmt::format("{} restarted on {}: a different incarnation", seat(second), second.host);
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
      if (!reason.empty()) check.refusal = {ExitCode::device, reason + ": give each rank its own"};
    }
    if (check.refusal) break;
  }
  return check;
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string list = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t shown = ranks.size() > most_listed ? most_listed - 1 : ranks.size();
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) list += i + 1 == ranks.size() ? " and " : ", ";
    list += std::to_string(ranks[i]);
  }
  if (shown < ranks.size()) list += fmt::format(" and {} more", ranks.size() - shown);
  return list;
}

}  // namespace annulus::control
