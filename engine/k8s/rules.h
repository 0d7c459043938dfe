// What schemas do not know of manifests, a rule each. Invariant: a rule looks at what its kinds
// hold and throws nothing, whatever is missing or of another type. Each has a manifest in
// tests/k8s/lint that breaks it and one that keeps it. Sources: the controllers' and webhooks' code
// (kubeflow/trainer v2.0.0 to v2.3.0, training-operator 1.9, jobset 0.12, volcano 1.15). Called by
// lint.h, listed by `annulus k8s lint --rules`.
#pragma once

#include <span>

#include "engine/k8s/finding.h"
#include "engine/k8s/input.h"
#include "engine/k8s/manifest.h"

namespace annulus::k8s {

struct Subject {
  const Manifest& manifest;
  const Input& input;  // for what refers to another
};

struct Rule {
  const char* name;
  const char* about;  // the kinds
  const char* what;
  void (*check)(const Subject& subject, Findings& findings);
};

std::span<const Rule> rules();

// --- rules_document.cpp: of the text itself ---
void check_duplicate_key(const Subject& subject, Findings& findings);

// --- rules_names.cpp: names that the controllers make or look for ---
void check_name_length(const Subject& subject, Findings& findings);
void check_container_name(const Subject& subject, Findings& findings);

// --- rules_environment.cpp ---
void check_reserved_env(const Subject& subject, Findings& findings);

// --- rules_trainer.cpp: a runtime and its TrainJobs ---
void check_ancestor_label(const Subject& subject, Findings& findings);
void check_ml_policy(const Subject& subject, Findings& findings);
void check_replicas(const Subject& subject, Findings& findings);
void check_launcher_count(const Subject& subject, Findings& findings);
void check_trainer_missing(const Subject& subject, Findings& findings);
void check_ttl_restarts(const Subject& subject, Findings& findings);

// --- rules_volcano.cpp: a runtime under Volcano's scheduler ---
void check_topology_tier(const Subject& subject, Findings& findings);
void check_volcano_scheduler(const Subject& subject, Findings& findings);
void check_volcano_initializer(const Subject& subject, Findings& findings);

// --- rules_rdma.cpp: network adapters ---
void check_rdma_dropped(const Subject& subject, Findings& findings);
void check_rdma_ipc_lock(const Subject& subject, Findings& findings);

// --- rules_gpus.cpp: GPUs and the ranks on them ---
void check_mig_count(const Subject& subject, Findings& findings);
void check_ranks_over_gpus(const Subject& subject, Findings& findings);

// --- rules_pods.cpp: what a pod of ranks needs ---
void check_istio_label(const Subject& subject, Findings& findings);
void check_shm(const Subject& subject, Findings& findings);
void check_host_network_dns(const Subject& subject, Findings& findings);

}  // namespace annulus::k8s
