// See rank_options.h.
#include "engine/cli/rank_options.h"

#include "engine/cli/add_option.h"

namespace annulus {
namespace {

constexpr int kMostRanks = 100000;
constexpr const char* kRanks = "Ranks";
constexpr const char* kNodes = "Nodes (pods)";

std::string check_ranks(const std::string& text) {
  const bool number = !text.empty() && text.size() < 5 && text != "0" &&
                      text.find_first_not_of("0123456789") == text.npos;
  return number || text == "auto" ? "" : "must be auto or a number from 1 to 9999";
}

// An option that is given from a variable that is not set would go unnoticed.
std::string check_given(const std::string& text) {
  return text.empty() ? "is empty: say what it is, or leave it out" : "";
}

template <class Seconds>
CLI::Option* add_seconds(CLI::App& app, const char* group, const char* flag, Seconds& value,
                         double least, const char* help) {
  return add(app, group, flag, value, help)
      ->option_text("SECONDS")
      ->check(CLI::Range(least, 86400.0));
}

void add_local_ranks(CLI::App& app, RankOptions& o) {
  add(app, kRanks, "--ranks", o.ranks,
      "processes to start on this machine, one a device; auto: one for each device (default: 1; "
      "in a pod among others what its launcher says, else auto)")
      ->option_text("N|auto")
      ->check(check_ranks);
}

}  // namespace

void add_node_options(CLI::App& app, RankOptions& o) {
  add_local_ranks(app, o);
  add(app, kNodes, "--nodes", o.identity.nodes,
      "their number, where the launcher does not tell it (default: counted in DNS)")
      ->check(CLI::Range(1, kMostRanks));
  add(app, kNodes, "--workers", o.identity.workers,
      "all of them in order, instead of what a launcher says or DNS knows")
      ->option_text("HOST:PORT,HOST:PORT")
      ->check(check_given);
  add(app, kNodes, "--index", o.identity.index, "this node's place in --workers, from 0")
      ->check(CLI::Range(0, kMostRanks));
  add(app, kNodes, "--min-workers", o.discovery.min_workers,
      "where they are counted: fewer are waited for; 1 lets a node train alone")
      ->check(CLI::Range(1, kMostRanks))
      ->capture_default_str();
  add_seconds(app, kNodes, "--settle", o.discovery.settle, 0,
              "where they are counted: for so long the count must hold")
      ->capture_default_str();
  add_seconds(app, kNodes, "--discovery-timeout", o.discovery.timeout, 0.1,
              "until all are found and have come")
      ->capture_default_str();
  add(app, kNodes, "--worker-port", o.discovery.worker_port,
      "on which worker 0 listens (default: $TF_WORKER_PORT, else 12345)")
      ->check(CLI::Range(1, 65535));
  add(app, kNodes, "--namespace", o.discovery.kubernetes_namespace,
      "of the pods (default: resolv.conf's)")
      ->option_text("NAME");
  add(app, kNodes, "--cluster-domain", o.discovery.cluster_domain,
      "of the cluster's DNS (default: resolv.conf's)")
      ->option_text("NAME");
}

void add_rank_options(CLI::App& app, RankOptions& o) {
  add_node_options(app, o);
  add(app, kRanks, "--rank", o.identity.rank,
      "this process's rank, where nothing starts the ranks for you")
      ->check(CLI::Range(0, kMostRanks));
  add(app, kRanks, "--world-size", o.identity.world, "ranks in all")
      ->check(CLI::Range(1, kMostRanks));
  add(app, kRanks, "--local-rank", o.identity.local_rank, "this process's rank on this machine")
      ->check(CLI::Range(0, kMostRanks));
  add(app, kRanks, "--local-world-size", o.identity.local_world, "ranks on this machine")
      ->check(CLI::Range(1, kMostRanks));
  add(app, kRanks, "--rendezvous", o.identity.rendezvous, "where rank 0 listens")
      ->option_text("HOST:PORT");
  add_seconds(app, kRanks, "--rendezvous-timeout", o.rendezvous_timeout, 0.1,
              "until every rank must be there (default: 60; in a pod what --discovery-timeout "
              "leaves)");
  add_seconds(app, kRanks, "--peer-timeout", o.peer_timeout, 0.1,
              "after which a silent rank is lost")
      ->capture_default_str();
  add(app, kRanks, "--job-id", o.job, "a rank of another job is refused (JobSet's uid)")
      ->option_text("ID");
  add(app, kRanks, "--job-generation", o.generation,
      "a rank of another life of the job is refused (JobSet's restart attempt)")
      ->option_text("ID");
  add(app, kRanks, "--secret-file", o.secret_file,
      "whose bytes all ranks share; who does not know them is refused")
      ->option_text("FILE")
      ->check(check_given);
}

}  // namespace annulus
