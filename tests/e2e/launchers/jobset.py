"""The JobSet controller: Jobs whose pods have names under one headless Service, and which all start
again when one fails, as failurePolicy says. Facts: ../shared/facts/kubernetes.md sections 1.4 and
5. Called by trainer.py."""
from __future__ import annotations

import copy
from typing import Optional

from batch import BatchJob, uid_of
from cluster import Cluster
from pod_spec import Manifest, Refused

_PREFIX = "jobset.sigs.k8s.io/"
_REASONS = {"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes",
            "MaxFailedIndexesExceeded", "PodFailurePolicy"}


class JobSet:
    """A JobSet and its Jobs, in one start after the other."""

    def __init__(self, cluster: Cluster, manifest: Manifest) -> None:
        self._cluster = cluster
        self.name: str = manifest["metadata"]["name"]
        self._spec: Manifest = manifest["spec"]
        self._uid = uid_of("JobSet", self.name)
        self._attempt = 0
        self._jobs: dict[str, BatchJob] = {}  # by replicatedJob; replicas are 1 under Trainer
        self._restarting = False
        self.state = "Running"
        network = self._spec.get("network", {})
        self._subdomain = network.get("subdomain", self.name)
        for rule in self._spec.get("failurePolicy", {}).get("rules", []):
            unknown = set(rule.get("onJobFailureReasons", [])) - _REASONS
            if unknown:
                raise Refused(f"JobSet {self.name}: no reasons {sorted(unknown)}")
        cluster.headless_service(self._subdomain, {_PREFIX + "jobset-name": self.name},
                                 bool(network.get("publishNotReadyAddresses", True)))

    def job_manifest(self, replicated: Manifest) -> Manifest:
        """The Job made of a replicatedJob, with the webhook's defaults."""
        job = copy.deepcopy(replicated["template"])
        labels = {"jobset-name": self.name, "jobset-uid": self._uid,
                  "replicatedjob-name": replicated["name"], "replicatedjob-replicas": "1",
                  "job-index": "0", "restart-attempt": str(self._attempt)}
        marks = {_PREFIX + key: value for key, value in labels.items()}
        job.setdefault("metadata", {})["name"] = f"{self.name}-{replicated['name']}-0"
        job["spec"].setdefault("completionMode", "Indexed")
        template = job["spec"]["template"]
        template["spec"].setdefault("restartPolicy", "OnFailure")
        template["spec"]["subdomain"] = self._subdomain
        for kind in ("labels", "annotations"):
            template.setdefault("metadata", {}).setdefault(kind, {}).update(marks)
        return dict(job)

    def templates(self) -> list[Manifest]:
        """The pods of all Jobs as they are made first."""
        jobs = [BatchJob(self._cluster, self.job_manifest(replicated))
                for replicated in self._spec["replicatedJobs"]]
        return [pod for job in jobs for pod in job.templates()]

    def _may_start(self, replicated: Manifest) -> bool:
        for needed in replicated.get("dependsOn", []):
            job = self._jobs.get(needed["name"])
            if job is None:
                return False
            ready = len(job.pods()) == job.completions and all(
                pod.ready or pod.phase == "Succeeded" for pod in job.pods())
            if job.state != "Complete" and not (needed["status"] == "Ready" and ready):
                return False
        return True

    def _rule_action(self, replicated: str, reason: str) -> str:
        for rule in self._spec["failurePolicy"].get("rules", []):
            if reason in rule.get("onJobFailureReasons", _REASONS) and \
                    replicated in rule.get("targetReplicatedJobs", [replicated]):
                return str(rule["action"])
        return "RestartJobSet"

    def _on_failure(self, replicated: str, job: BatchJob) -> None:
        policy: Optional[Manifest] = self._spec.get("failurePolicy")
        action = "FailJobSet" if policy is None else self._rule_action(replicated, job.reason)
        if action == "RestartJobSet" and policy is not None and \
                self._attempt >= policy.get("maxRestarts", 0):
            action = "FailJobSet"
        for other in self._jobs.values():
            other.delete_pods()
        if action == "FailJobSet":
            self.state = "Failed"
            self._cluster.say(f"JobSet {self.name} failed: {replicated}: {job.reason}")
            return
        self._attempt += 1
        self._restarting = True
        self._cluster.say(f"JobSet {self.name} starts again ({self._attempt})")

    def _blocked(self) -> bool:
        """BlockingRecreate: until the last old pod is gone."""
        strategy = self._spec.get("failurePolicy", {}).get("restartStrategy", "Recreate")
        return strategy == "BlockingRecreate" and any(
            pod.phase in ("Pending", "Running") and
            pod.labels.get(_PREFIX + "jobset-name") == self.name for pod in self._cluster.pods)

    def _succeeded(self) -> bool:
        policy = self._spec.get("successPolicy", {})
        chosen = policy.get("targetReplicatedJobs") or [
            replicated["name"] for replicated in self._spec["replicatedJobs"]]
        done = [name in self._jobs and self._jobs[name].state == "Complete" for name in chosen]
        return any(done) if policy.get("operator") == "Any" else all(done)

    def step(self) -> str:
        """Running, Complete or Failed."""
        if self.state != "Running":
            return self.state
        if self._restarting:
            if self._blocked():
                return self.state
            self._restarting, self._jobs = False, {}
        for replicated in self._spec["replicatedJobs"]:
            name = replicated["name"]
            if name not in self._jobs and self._may_start(replicated):
                self._jobs[name] = BatchJob(self._cluster, self.job_manifest(replicated))
        for name, job in self._jobs.items():
            job.step()
            if job.state == "Failed":
                self._on_failure(name, job)
                return self.state
        if self._succeeded():
            self.state = "Complete"
            for job in self._jobs.values():
                job.delete_pods()
        return self.state
