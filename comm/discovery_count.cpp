// See comm/discovery_count.h.
#include "comm/discovery_count.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/control.h"
#include "comm/discovery_words.h"
#include "kernels/check.h"

namespace annulus {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// No job has so many workers: a wildcard in the cluster's own domain answers.
constexpr int kLongestStep = 1 << 17;

// Thrown by see() and caught by run(): neither there nor absent, so the round tells no number.
struct Unclear {
  int index;
};

std::string workers_text(int count) {
  return count == 1 ? "1 worker" : fmt::format("{} workers", count);
}

// The number that rounds agree on, and since when.
struct Candidate {
  int workers = 0;
  Deadline since;

  void take(int seen, Deadline when) {
    if (seen == workers) return;
    workers = seen;
    since = when;
  }
};

std::string named(const WorkerNames& names, const WorkerCount& count) {
  return fmt::format("{} ({})", short_name(names.of(count.missing)), count.answer.words());
}

std::string progress_text(const WorkerNames& names, const WorkerCount& count, int min_workers,
                          milliseconds settle, const std::string& waited) {
  if (!count.workers) return fmt::format("waiting for {} after {}", named(names, count), waited);
  const std::string found = fmt::format("{} after {}", workers_text(*count.workers), waited);
  return *count.workers < min_workers
             ? fmt::format("{}, waiting for {}", found, named(names, count))
             : fmt::format("{}, waiting for the count to hold {:.0f} s", found,
                           std::chrono::duration<double>(settle).count());
}

[[noreturn]] void give_up(const WorkerNames& names, const WorkerCount& count, int own,
                          int min_workers, const std::string& waited) {
  if (!count.workers) {
    const std::string role = count.missing == own ? "own name " : "";
    throw PeerError(
        ExitCode::rendezvous, -1,
        fmt::format("discovery: the number of workers is not known after {}: {}{}: {}; {}", waited,
                    role, names.of(count.missing), count.answer.words(),
                    dns_advice(count.answer, count.missing == own)));
  }
  const std::string found =
      fmt::format("discovery: {} after {}", workers_text(*count.workers), waited);
  if (*count.workers < min_workers)
    throw PeerError(ExitCode::rendezvous, -1,
                    fmt::format("{}, of at least {}; the next would be {} ({}); if no other is "
                                "meant to come, say --min-workers {}",
                                found, min_workers, names.of(count.missing), count.answer.words(),
                                *count.workers));
  throw PeerError(ExitCode::rendezvous, -1,
                  found +
                      ", but the count did not hold; tell it with --nodes, or wait longer with "
                      "--discovery-timeout");
}

}  // namespace

WorkerCount CountingRound::run(int expected, int turn) {
  try {
    look({own_, 0});
    for (const int needed : {own_, 0})
      if (!there(needed)) throw Unclear{needed};
    choose_pattern();
    const int end = first_absent(expected);
    const std::vector<int> lower = lower_sample(end, turn);
    look(lower);
    for (const int index : lower)
      if (!there(index)) throw Unclear{index};
    return {end, end, seen_[end]};
  } catch (const Unclear& unclear) {
    return {std::nullopt, unclear.index, seen_[unclear.index]};
  }
}

const DnsAnswer& CountingRound::see(int index) {
  look({index});
  const DnsAnswer& answer = seen_[index];
  if (!answer.found() && !answer.absent()) throw Unclear{index};
  return answer;
}

// Asks for those that were not yet seen.
void CountingRound::look(const std::vector<int>& indices) {
  std::vector<int> asked;
  std::vector<std::string> names;
  for (const int index : indices) {
    if (seen_.contains(index) || std::ranges::count(asked, index) > 0) continue;
    if (!names_.possible(index)) {
      seen_[index] = {DnsAnswer::Status::not_found, {}};
      continue;
    }
    asked.push_back(index);
    names.push_back(names_.of(index));
  }
  const std::vector<DnsAnswer> answers = resolver_.ask(names, deadline_);
  for (std::size_t i = 0; i < asked.size(); ++i) seen_[asked[i]] = answers[i];
  questions_ += static_cast<int>(asked.size());
}

// Worker 0's name is the same in both of JobSet's patterns: worker 1's tells which it is.
void CountingRound::choose_pattern() {
  if (!names_.ambiguous() || there(1)) return;
  const DnsAnswer other = resolver_.ask({names_.in_other_pattern(1)}, deadline_).front();
  ++questions_;
  if (!other.found()) return;
  names_.take_other_pattern();
  seen_[1] = other;
}

int CountingRound::first_absent(int expected) {
  int low = own_, high = -1;
  if (expected > own_ + 1) {
    look({expected - 1, expected});
    if (there(expected - 1)) low = expected - 1;
    if (!there(expected)) high = expected;
    if (low == expected - 1 && high == expected) return expected;
    if (low != expected - 1) high = expected - 1;
  }
  const int base = low;
  for (int step = 1; high < 0; step *= 2) {
    const int next = base + step;
    if (step > kLongestStep)
      throw UserError(
          ExitCode::usage,
          fmt::format("discovery: DNS knows even {}: it answers for every name, so that "
                      "workers cannot be counted; tell their number with --nodes",
                      names_.of(low)));
    if (there(next))
      low = next;
    else
      high = next;
  }
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (there(middle) ? low : high) = middle;
  }
  return high;
}

// As many of the indices below `end` as there are questions left for, spread evenly; other ones in
// another turn. An absent one among them is a hole, not yet the end.
std::vector<int> CountingRound::lower_sample(int end, int turn) const {
  std::vector<int> unseen;
  for (int index = 0; index < end; ++index)
    if (!seen_.contains(index)) unseen.push_back(index);
  const std::size_t left = static_cast<std::size_t>(std::max(0, kMostQuestions - questions_));
  if (unseen.size() <= left) return unseen;
  std::vector<int> sample;
  const std::size_t offset = static_cast<std::size_t>(own_) + static_cast<std::size_t>(turn);
  for (std::size_t i = 0; i < left; ++i)
    sample.push_back(unseen[(i * unseen.size() / left + offset) % unseen.size()]);
  return sample;
}

int count_workers(Resolver& resolver, WorkerNames& names, int own, const DiscoveryOptions& options,
                  DiscoveryPace& pace) {
  Candidate candidate;
  WorkerCount heard;
  for (int turn = 0;; ++turn) {
    const Deadline round_start = steady_clock::now();
    const WorkerCount count =
        CountingRound(resolver, names, own, pace.round_deadline()).run(candidate.workers, turn);
    const bool enough = count.workers >= options.min_workers;
    if (count.workers) candidate.take(*count.workers, round_start);
    if (enough && round_start - candidate.since >= options.settle) return *count.workers;
    // Silence in a round that the deadline cuts short is no news.
    if (turn == 0 || !pace.over() || count.answer.status != DnsAnswer::Status::timeout)
      heard = count;
    pace.progress(progress_text(names, heard, options.min_workers, options.settle, pace.waited()));
    if (enough)
      pace.pause(candidate.since + options.settle, options.settle / 2);
    else
      pace.pause();
    if (pace.over()) give_up(names, heard, own, options.min_workers, pace.waited());
  }
}

}  // namespace annulus
