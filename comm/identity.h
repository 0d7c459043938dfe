// Who am I: the first stage of the way to a communicator, and nothing but that: no look-up, no
// connection. Process launchers describe ranks (comm/identity_ranks), pod launchers describe nodes
// (comm/identity_nodes), one detector a launcher; the rules between them stand in
// comm/identity.cpp: what Annulus's own launcher says is final, flags beat the rest, the inner
// level beats the outer, TF_CONFIG beats the host name, sources of one level that disagree are an
// error that shows both. Called by engine/cli.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "comm/endpoint.h"

namespace annulus {

// A rank: one process with one device. Alone is rank 0 of 1.
struct Identity {
  int rank = 0, world = 1;
  int local_rank = 0, local_world = 1;  // on this host
  std::string source = "alone";  // or "flags", "torchrun", "Open MPI", "annulus launcher", …

  // Where rank 0 listens for the others; empty and 0 where the source does not say.
  std::string rendezvous_host;
  int rendezvous_port = 0;
  std::string job;   // equal on all ranks of one run, different in another; may be empty
  std::string note;  // a line for the log, without its end, where a choice may surprise; or empty

  // Where nodes (pods) found each other, each with as many ranks: which this one is, and how many.
  std::optional<int> node, nodes;
  bool counted = false;                     // the nodes were counted in DNS, not told
  std::optional<double> discovery_seconds;  // until the nodes were known
  int ranks_a_node() const { return nodes ? world / *nodes : 1; }

  bool alone() const { return world == 1; }
  // Whether its lines are not another's too: one rank a node, rank 0 of others.
  bool speaks() const { return rank == 0 || (nodes && rank % ranks_a_node() == 0); }
};

// How a job's pods are named; DNS is asked for the names of its other workers.
struct PodName {
  enum class Pattern {
    completion,  // {job}-node-0-{i}, service {job}: JobSet, one Job of N completions
    replica,     // {job}-node-{i}-0, service {job}: JobSet, N Jobs of one completion
    role         // {job}-worker-{i}: training operators; the bare name resolves in the namespace
  };
  std::string job;
  Pattern pattern = Pattern::completion;
  std::string role = "node";  // "node", "worker", "master", "chief", …
  int index = 0;              // within the role

  // {job}-node-0-0 fits both JobSet patterns: discovery tries both.
  bool ambiguous() const { return role == "node" && index == 0; }
};

// A pod among the pods of a job: one process that starts a rank on each of its devices. Where nodes
// is above 1 or not told, and none of workers, first and pod is set, nobody has said where worker 0
// is: discovery refuses that.
struct NodeIdentity {
  int index = 0;                     // worker index: 0 is the one the others register with
  std::optional<int> nodes;          // not told: discovery counts them
  std::optional<int> local_ranks;    // ranks a node; not told ("auto"): one a device
  std::vector<Endpoint> workers;     // by index, where all are named; else empty. Port 0: not told
  std::optional<Endpoint> first;     // worker 0, where only it is named
  std::optional<PodName> pod;        // this pod's name, where it says how the others are called
  std::string task_type = "worker";  // in TF_CONFIG's words: "worker", "chief"
  int task_index = 0;                // within the type
  std::string source;                // "TF_CONFIG", "PET_*", "host name", …
  std::string job;                   // may be empty
  std::string note;  // a line for the log, without its end, where a choice may surprise; or empty
};

// TF_CONFIG's evaluator: it has no part in the training; it says so and ends with 0.
struct EvaluatorTask {
  std::string source;
};

using Place = std::variant<Identity, NodeIdentity, EvaluatorTask>;

// What the command line says; each beats the environment.
struct IdentityFlags {
  std::optional<int> rank, world, local_rank, local_world;
  std::string rendezvous;           // "host:port"
  std::string workers;              // "host:port,host:port": all nodes by index
  std::optional<int> index, nodes;  // this node, and how many; nodes 1: alone
};

using Environment = std::function<const char*(const char* name)>;  // getenv, or a test's map

// What a detector may look at.
struct Surroundings {
  Environment environment;
  std::string hostname;
  // The file's text, or nothing where there is none; /etc/volcano/worker.host for example.
  std::function<std::optional<std::string>(const std::string& path)> file = [](const std::string&) {
    return std::nullopt;
  };
  bool in_cluster = false;  // resolv.conf names a Kubernetes namespace (comm/resolv_conf.h)
};

// Throws UserError (usage) for numbers that are none, do not fit together, or contradict, and where
// a launcher wants to start Annulus in another way (MPIJob).
Place detect_place(const IdentityFlags& flags, const Surroundings& surroundings);

}  // namespace annulus
