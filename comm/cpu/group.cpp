// A group is a list of the thread's own; its end empties it, also where something fails.
#include "comm/cpu/group.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/cpu/cudart/options.h"

namespace annulus::cpu::nccl {
namespace {

struct Connection {
  std::shared_ptr<Communicator> communicator;
  bool blocking;
};

struct Issue {
  std::shared_ptr<Communicator> communicator;
  Collective collective;
  cudaStream_t stream;
};

struct Group {
  int depth = 0;
  ncclResult_t result = ncclSuccess;  // the first error
  std::vector<Connection> connections;
  std::vector<Issue> issues;
};

thread_local Group group;

void note(ncclResult_t& first, ncclResult_t result) {
  if (first == ncclSuccess || first == ncclInProgress)
    first = result == ncclSuccess ? first : result;
}

ncclResult_t connect(const std::shared_ptr<Communicator>& communicator, bool blocking) {
  if (blocking) return communicator->connect();
  communicator->connect_in_background();
  return ncclInProgress;
}

ncclResult_t connect_all(const std::vector<Connection>& connections) {
  std::vector<ncclResult_t> results(connections.size(), ncclSuccess);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    threads.emplace_back(
        [&, i] { results[i] = connect(connections[i].communicator, connections[i].blocking); });
  }
  ncclResult_t first = ncclSuccess;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    threads[i].join();
    note(first, results[i]);
  }
  return first;
}

// Where streams have no threads, the first collective would wait for the second, which this thread
// has yet to run.
bool would_wait_for_itself(const std::vector<Issue>& issues) {
  if (cpu::options().mode == Mode::threads) return false;
  const auto ranks_meet = [](const Issue& a, const Issue& b) {
    return a.communicator != b.communicator && a.communicator->nonce() == b.communicator->nonce();
  };
  return std::any_of(issues.begin(), issues.end(), [&](const Issue& a) {
    return std::any_of(issues.begin(), issues.end(),
                       [&](const Issue& b) { return ranks_meet(a, b); });
  });
}

ncclResult_t issue_all(const std::vector<Issue>& issues) {
  if (would_wait_for_itself(issues)) {
    remember_error(
        "one thread holds several ranks of a communicator in a group: that needs "
        "ANNULUS_CPU_MODE=threads, or a thread per rank");
    return ncclInvalidUsage;
  }
  ncclResult_t first = ncclSuccess;
  for (const Issue& issue : issues)
    note(first, issue.communicator->issue(issue.collective, issue.stream));
  return first;
}

}  // namespace

void start_group() { ++group.depth; }

ncclResult_t end_group() {
  if (group.depth == 0) {
    remember_error("ncclGroupEnd without a ncclGroupStart");
    return ncclInvalidUsage;
  }
  if (--group.depth > 0) return ncclSuccess;
  Group ended = std::exchange(group, {});
  if (ended.result != ncclSuccess) return ended.result;
  ncclResult_t first = connect_all(ended.connections);
  note(first, issue_all(ended.issues));
  return first;
}

ncclResult_t refuse_in_group(ncclResult_t result) {
  if (group.depth > 0) note(group.result, result);
  return result;
}

ncclResult_t issue_or_keep(std::shared_ptr<Communicator> communicator, const Collective& collective,
                           cudaStream_t stream) {
  if (group.depth == 0) return communicator->issue(collective, stream);
  group.issues.push_back({std::move(communicator), collective, stream});
  return ncclSuccess;
}

ncclResult_t connect_or_keep(std::shared_ptr<Communicator> communicator, bool blocking) {
  if (group.depth == 0) return connect(communicator, blocking);
  group.connections.push_back({std::move(communicator), blocking});
  return blocking ? ncclSuccess : ncclInProgress;
}

}  // namespace annulus::cpu::nccl
