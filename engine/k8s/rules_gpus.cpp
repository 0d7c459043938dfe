// GPUs, and the ranks that share them.
#include <fmt/format.h>

#include <algorithm>

#include "engine/k8s/resources.h"
#include "engine/k8s/rules.h"
#include "engine/k8s/trainer.h"

namespace annulus::k8s {
namespace {

bool says_ranks(const TrainJob& job) { return job.trainer()["numProcPerNode"].there(); }

bool has_train_job(const Subject& subject) {
  return !subject.input.train_jobs_of(subject.manifest).empty();
}

// MIG instances alone: with a GPU beside them the controller has a number.
Asked uncounted_mig(const Value& resources) {
  return asked_gpus(resources) ? Asked{} : asked_mig(resources);
}

Words mig_words(const Asked& mig, const std::string& policy) {
  const char* becomes = policy == "mpi" ? "one rank" : "a rank for each CPU";
  return {fmt::format("{}: {}, and no numProcPerNode", mig.name, mig.value->text),
          fmt::format("Trainer counts resources whose name has gpu in it, so it sees none and "
                      "starts {}",
                      becomes),
          fmt::format("say numProcPerNode: {} in the TrainJob's trainer", mig.value->text)};
}

}  // namespace

void check_mig_count(const Subject& subject, Findings& findings) {
  const auto counts = [](const std::string& policy) {
    return policy == "torch" || policy == "mpi";
  };
  if (subject.manifest.kind == Kind::train_job) {
    const TrainJob job = train_job_of(subject.manifest, subject.input);
    const bool own = sets_any(job.resources());
    const Asked mig = uncounted_mig(own ? job.resources() : job.runtime.resources());
    if (!mig || says_ranks(job) || !(counts(job.policy) || job.policy.empty())) return;
    findings.add(own ? *mig.value : job.manifest->spec(), kFrom20, mig_words(mig, job.policy));
  }
  if (subject.manifest.kind != Kind::runtime || has_train_job(subject)) return;
  const Runtime runtime = runtime_of(subject.manifest);
  const Asked mig = uncounted_mig(runtime.resources());
  if (mig && counts(runtime.policy) && runtime.source()["numProcPerNode"].whole().value_or(1) == 1)
    findings.add(*mig.value, kFrom20, mig_words(mig, runtime.policy));
}

namespace {

void compare(const Value& at, std::optional<std::int64_t> ranks, std::optional<std::int64_t> gpus,
             const std::string& what, bool of_trainer, Findings& findings) {
  if (!ranks || !gpus || *gpus == 0 || *ranks <= *gpus) return;
  Words words{fmt::format("{} starts {} ranks in a pod of {} GPU{}", what, *ranks, *gpus,
                          *gpus == 1 ? "" : "s"),
              "NCCL refuses two ranks on one device",
              fmt::format("say {}, or ask for {} GPUs", *gpus, *ranks)};
  if (of_trainer)
    findings.add(at, kFrom20, std::move(words));
  else
    findings.add(at, std::move(words));
}

// The N of `--ranks N` or `--ranks=N` among a container's words.
const Value* ranks_option(const Value& words, std::optional<std::int64_t>& ranks) {
  for (std::size_t i = 0; i < words.items.size(); ++i) {
    const std::string& word = words.items[i].text;
    if (word == "--ranks" && i + 1 < words.items.size()) {
      ranks = words.items[i + 1].whole();
      return &words.items[i];
    }
    if (word.starts_with("--ranks=")) {
      ranks = Value{Value::Kind::scalar, 0, word.substr(8), {}, {}}.whole();
      return &words.items[i];
    }
  }
  return nullptr;
}

// Of what starts annulus: `words` is a container, or a TrainJob's trainer.
void compare_own_words(const Value& words, std::optional<std::int64_t> gpus, Findings& findings) {
  std::optional<std::int64_t> ranks;
  for (const char* field : {"command", "args"})
    if (const Value* at = ranks_option(words[field], ranks))
      compare(*at, ranks, gpus, "--ranks", false, findings);
  if (const Value* entry = named(words["env"], "ANNULUS_RANKS"))
    compare(*entry, (*entry)["value"].whole(), gpus, "ANNULUS_RANKS", false, findings);
}

void compare_train_job(const TrainJob& job, Findings& findings) {
  const auto own = devices(job.resources());
  const auto gpus = own ? own : devices(job.runtime.resources());
  const Value& said = job.trainer()["numProcPerNode"];
  compare(said, said.whole(), gpus, "numProcPerNode", true, findings);
  if (own && !said.there() && job.runtime_manifest) {
    const Value& of_runtime = job.runtime.source()["numProcPerNode"];
    // Where the resources stand: the runtime alone may be right for others.
    compare(job.resources(), of_runtime.whole(), own, "numProcPerNode of its runtime", true,
            findings);
  }
  compare_own_words(job.trainer(), gpus, findings);
}

void compare_operators(const Manifest& manifest, Findings& findings) {
  const Value& spec = manifest.spec();
  const Value& elastic = spec["elasticPolicy"]["nProcPerNode"];
  for (const Pod& pod : pods_of(manifest))
    for (const Value& container : pod.spec()["containers"].items) {
      const auto gpus = devices(container["resources"]);
      compare(spec["slotsPerWorker"], spec["slotsPerWorker"].whole(), gpus, "slotsPerWorker", false,
              findings);
      const Value& processes = elastic.there() ? elastic : spec["nprocPerNode"];
      compare(processes, processes.whole(), gpus, "nprocPerNode", false, findings);
    }
}

}  // namespace

void check_ranks_over_gpus(const Subject& subject, Findings& findings) {
  const Manifest& manifest = subject.manifest;
  if (manifest.kind == Kind::train_job)
    return compare_train_job(train_job_of(manifest, subject.input), findings);
  if (manifest.kind == Kind::runtime) {
    const Runtime runtime = runtime_of(manifest);
    const Value& said = runtime.source()["numProcPerNode"];
    compare(said, said.whole(), devices(runtime.resources()), "numProcPerNode", true, findings);
  }
  if (manifest.kind == Kind::replicas_job) compare_operators(manifest, findings);
  for (const Pod& pod : pods_of(manifest))
    for (const Value& container : pod.spec()["containers"].items)
      compare_own_words(container, devices(container["resources"]), findings);
}

}  // namespace annulus::k8s
