// What DNS says of workers that have not registered yet: see AbsentWorkers in comm/discovery.h. A
// thread looks up those who were asked about last; describe() tells what is known by then.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "comm/discovery.h"
#include "comm/discovery_names.h"
#include "comm/host_lookup.h"
#include "comm/resolver.h"
#include "kernels/check.h"

namespace annulus {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t most_named = 3;
// The end waits for a question under way.
constexpr milliseconds between_questions{5'000}, longest_question{1'000};

class AbsentInDns : public AbsentWorkers {
 public:
  AbsentInDns(const Topology& topology, const DiscoveryOptions& options)
      : workers_(topology.workers),
        cluster_(options.cluster),
        resolver_(options.dns_servers),
        thread_([this] { look_up_until_stopped(); }) {}

  ~AbsentInDns() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  std::string describe(const std::vector<int>& workers) override {
    std::vector<int> named = workers;
    named.resize(std::min(named.size(), most_named));
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const int worker : named) text += (text.empty() ? "" : ", ") + describe_one(worker);
    if (workers.size() > named.size())
      text += fmt::format(" and {} more", workers.size() - named.size());
    wanted_ = std::move(named);
    changed_.notify_one();
    return text;
  }

 private:
  struct Known {
    DnsAnswer answer;
    Deadline asked;
  };

  bool can_be_asked(int worker) const {
    const std::string& host = workers_[static_cast<std::size_t>(worker)].host;
    return !host.empty() && !is_numeric_address(host) && !is_loopback(host);
  }

  std::string describe_one(int worker) const {
    const Endpoint& endpoint = workers_[static_cast<std::size_t>(worker)];
    if (endpoint.host.empty()) return fmt::format("worker {}", worker);
    if (!can_be_asked(worker)) return fmt::format("{} (not registered)", endpoint.text());
    std::string name = short_name(endpoint.host);
    const auto known = known_.find(worker);
    if (known == known_.end()) return name;
    const DnsAnswer& answer = known->second.answer;
    return answer.found() ? fmt::format("{} ({}, not registered)", name, answer.addresses.front())
                          : fmt::format("{} ({})", name, answer.words());
  }

  // The first of the wanted that was not asked for a while.
  std::optional<int> due() const {
    for (const int worker : wanted_) {
      const auto known = known_.find(worker);
      if (can_be_asked(worker) &&
          (known == known_.end() || steady_clock::now() >= known->second.asked + between_questions))
        return worker;
    }
    return std::nullopt;
  }

  void look_up_until_stopped() {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      const std::optional<int> worker = due();
      if (!worker) {
        // Asked for again, or stopped: both notify.
        changed_.wait(lock);
        continue;
      }
      lock.unlock();
      const Deadline asked = steady_clock::now();
      DnsAnswer answer = look_up(workers_[static_cast<std::size_t>(*worker)].host);
      lock.lock();
      known_[*worker] = {std::move(answer), asked};
    }
  }

  DnsAnswer look_up(const std::string& host) {
    if (auto local = resolver_.in_hosts_file(host); !local.empty())
      return {DnsAnswer::Status::found, std::move(local)};
    try {
      std::vector<DnsAnswer> answers = resolver_.ask(
          cluster_ ? absolute_names(host, *cluster_) : std::vector{host}, after(longest_question));
      const auto found = std::ranges::find_if(answers, &DnsAnswer::found);
      return found == answers.end() ? answers.front() : *found;
    } catch (const UserError&) {  // no name that DNS can hold
      return {DnsAnswer::Status::not_found, {}};
    }
  }

  const std::vector<Endpoint> workers_;
  const std::optional<ClusterNames> cluster_;
  Resolver resolver_;  // the thread's alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> wanted_;
  std::map<int, Known> known_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<AbsentWorkers> watch_absent(const Topology& topology,
                                            const DiscoveryOptions& options) {
  return std::make_unique<AbsentInDns>(topology, options);
}

}  // namespace annulus
