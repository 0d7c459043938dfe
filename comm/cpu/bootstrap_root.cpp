// One pass: collect hellos, check them against each other, send the table, count the votes.
#include "comm/cpu/bootstrap_root.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <thread>

#include "comm/cpu/bootstrap_wire.h"
#include "comm/cpu/error.h"
#include "comm/cpu/options.h"
#include "comm/interfaces.h"
#include "comm/socket.h"

namespace annulus::cpu::nccl {
namespace {

constexpr std::chrono::minutes kUnusedLimit{10};         // for an id that nobody comes with
constexpr std::chrono::milliseconds kHelloLimit{2'000};  // for a stranger that says nothing

Nonce make_nonce() {
  std::random_device random;
  const auto word = [&] { return std::uint64_t{random()} << 32 | random(); };
  return {word(), word()};
}

class Root {
 public:
  Root(Socket listener, const Nonce& nonce, std::chrono::milliseconds timeout)
      : listener_(std::move(listener)), nonce_(nonce), timeout_(timeout) {}

  void serve() {
    try {
      collect_hellos();
      send_table();
      count_votes();
    } catch (const NcclError& error) {
      refuse(error);
    } catch (const std::exception& error) {
      refuse({ncclSystemError, error.what()});
    }
  }

 private:
  void collect_hellos() {
    Deadline deadline = after(kUnusedLimit);
    while (ranks_.empty() || ranks_.size() < world()) {
      std::optional<Socket> socket;
      try {
        socket = listener_.accept(deadline);
      } catch (const NetError& error) {
        if (error.kind() != NetError::Kind::timeout || ranks_.empty()) throw;
        throw NcclError(ncclRemoteError, describe_absent());
      }
      const bool first = ranks_.empty();
      take_hello(std::move(*socket));
      if (first && !ranks_.empty()) deadline = after(timeout_);
    }
  }

  void take_hello(Socket socket) {
    Hello hello;
    try {
      socket.receive(&hello, sizeof hello, after(kHelloLimit));
    } catch (const NetError&) {
      return;  // a stranger
    }
    if (hello.magic != kBootstrapMagic || hello.nonce != nonce_) return;
    const auto [place, inserted] = ranks_.try_emplace(hello.rank);
    if (!inserted) {
      ranks_.emplace(kSecondClaimant, Rank{std::move(socket), hello});
      throw NcclError(ncclInvalidUsage,
                      fmt::format("rank {} came twice: give each rank its own number", hello.rank));
    }
    place->second = Rank{std::move(socket), hello};
    check_against_others(hello);
  }

  void check_against_others(const Hello& hello) const {
    for (const auto& [rank, other] : ranks_) {
      if (rank == hello.rank) continue;
      if (other.hello.world != hello.world) {
        throw NcclError(ncclInvalidUsage,
                        fmt::format("rank {} says {} ranks, rank {} says {}", rank,
                                    other.hello.world, hello.rank, hello.world));
      }
      if (other.hello.version != hello.version) {
        throw NcclError(ncclInvalidUsage,
                        fmt::format("rank {} has NCCL {}, rank {} has {}: use one version", rank,
                                    other.hello.version, hello.rank, hello.version));
      }
      if (share_process(other.hello.member, hello.member) &&
          other.hello.member.device == hello.member.device) {
        throw NcclError(ncclInvalidUsage,
                        fmt::format("ranks {} and {} are on one device ({}) of one process: call "
                                    "cudaSetDevice first",
                                    rank, hello.rank, hello.member.device));
      }
    }
  }

  std::string describe_absent() const {
    std::string absent;
    for (int rank = 0; rank < static_cast<int>(world()); ++rank) {
      if (!ranks_.contains(rank)) absent += (absent.empty() ? "" : ", ") + std::to_string(rank);
    }
    const bool one = ranks_.size() + 1 == world();
    return fmt::format("{} {} of {} did not come within {} ms (ANNULUS_CPU_NCCL_TIMEOUT_MS)",
                       one ? "rank" : "ranks", absent, world(), timeout_.count());
  }

  void send_table() {
    Members members;
    for (const auto& [rank, entry] : ranks_) members.push_back(entry.hello.member);
    const Reply welcome;
    for (const auto& [rank, entry] : ranks_) {
      with_rank(rank, [&, &socket = entry.socket] {
        socket.send(&welcome, sizeof welcome, after(timeout_));
        socket.send(members.data(), members.size() * sizeof(Member), after(timeout_));
      });
    }
  }

  void count_votes() {
    Reply result{.agreed = 1};
    const Deadline deadline = after(timeout_);
    for (const auto& [rank, entry] : ranks_) {
      with_rank(rank, [&, &socket = entry.socket] {
        std::int32_t vote = 0;
        socket.receive(&vote, sizeof vote, deadline);
        result.agreed &= vote;
      });
    }
    for (const auto& [rank, entry] : ranks_) {
      with_rank(rank, [&, &socket = entry.socket] {
        socket.send(&result, sizeof result, after(timeout_));
      });
    }
  }

  template <class Work>
  void with_rank(int rank, const Work& work) const {
    try {
      work();
    } catch (const NetError& error) {
      throw NcclError(ncclRemoteError, fmt::format("rank {} of {} was lost while the communicator "
                                                   "was made: {}",
                                                   rank, world(), error.what()));
    }
  }

  void refuse(const NcclError& error) const {
    Reply reply{.result = error.result()};
    std::string_view(error.what()).copy(reply.message.data(), reply.message.size() - 1);
    for (const auto& [rank, entry] : ranks_) {
      try {
        entry.socket.send(&reply, sizeof reply, after(kHelloLimit));
      } catch (const NetError&) {  // gone as well
      }
    }
  }

  std::size_t world() const { return static_cast<std::size_t>(ranks_.begin()->second.hello.world); }

  struct Rank {
    Socket socket;
    Hello hello;
  };
  static constexpr int kSecondClaimant = 1 << 30;  // a place from which it is refused too

  Socket listener_;
  Nonce nonce_;
  std::chrono::milliseconds timeout_;
  std::map<int, Rank> ranks_;
};

}  // namespace

ncclUniqueId start_bootstrap_root() {
  const Options options = read_options();
  const std::string address = socket_interfaces().front().addresses.front();
  Socket listener = listen_on(address, 0);
  const IdContents contents{
      .nonce = make_nonce(), .address = make_text(address), .port = listener.local_port()};
  std::thread([root = Root(std::move(listener), contents.nonce, options.timeout)]() mutable {
    root.serve();
  }).detach();
  ncclUniqueId id{};
  std::memcpy(id.internal, &contents, sizeof contents);
  return id;
}

}  // namespace annulus::cpu::nccl
