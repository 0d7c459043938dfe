"""The Job controller of Kubernetes (batch/v1): one pod or an indexed set of them, started again up
to backoffLimit or backoffLimitPerIndex, and ended at once by what podFailurePolicy calls permanent.
Facts: ../shared/facts/kubernetes.md sections 1.4, 5 and 7, and Kubernetes' own reference of the
Job. Called by the launchers: a plain Job, a JobSet's, the launcher of an MPIJob."""
from __future__ import annotations

import copy
import itertools
import uuid
from typing import Optional

import pod_spec
from cluster import BACK_OFF, Cluster, Pod
from pod_spec import Manifest, Refused

_ENDINGS = itertools.count(1)  # of names of pods, which Kubernetes draws by chance


def uid_of(kind: str, name: str) -> str:
    """What the API server would have given it: the same in every run of a test."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}/{name}"))


def check(manifest: Manifest) -> None:
    """What the API server's validation refuses of a Job of ours."""
    name, spec = manifest["metadata"]["name"], manifest["spec"]
    policy = spec["template"]["spec"].get("restartPolicy", "Always")
    if policy not in ("Never", "OnFailure"):
        raise Refused(f"Job {name}: restartPolicy {policy}: only OnFailure or Never")
    if "podFailurePolicy" in spec and policy != "Never":
        raise Refused(f"Job {name}: podFailurePolicy needs restartPolicy Never, not {policy}")
    if "backoffLimitPerIndex" in spec and spec.get("completionMode") != "Indexed":
        raise Refused(f"Job {name}: backoffLimitPerIndex needs completionMode Indexed")


class BatchJob:
    """A Job and its pods."""

    def __init__(self, cluster: Cluster, manifest: Manifest) -> None:
        check(manifest)
        self._cluster = cluster
        self.name: str = manifest["metadata"]["name"]
        self._spec: Manifest = manifest["spec"]
        self._uid = uid_of("Job", self.name)
        self._indexed = self._spec.get("completionMode") == "Indexed"
        self._pods: dict[int, Pod] = {}  # the last of each index
        self._failures: dict[int, int] = {}
        self._next_start: dict[int, float] = {}
        self._succeeded: set[int] = set()
        self._failed: set[int] = set()
        self.state = "Running"  # or Complete, or Failed
        self.reason = ""  # of a Job that Failed

    @property
    def completions(self) -> int:
        """How many pods must succeed."""
        return int(self._spec.get("completions", 1))

    def pods(self) -> list[Pod]:
        """The last of each index."""
        return list(self._pods.values())

    def _pod(self, index: int) -> Manifest:
        """Of an index, or the only one."""
        pod = copy.deepcopy(self._spec["template"])
        metadata, spec = pod.setdefault("metadata", {}), pod["spec"]
        numbered = f"{self.name}-{index}" if self._indexed else self.name
        labels = {"batch.kubernetes.io/job-name": self.name, "job-name": self.name,
                  "batch.kubernetes.io/controller-uid": self._uid, "controller-uid": self._uid}
        metadata["name"] = f"{numbered}-{next(_ENDINGS):05}"
        if self._indexed:
            labels["batch.kubernetes.io/job-completion-index"] = str(index)
            metadata.setdefault("annotations", {})[
                "batch.kubernetes.io/job-completion-index"] = str(index)
            spec["hostname"] = numbered
            pod_spec.set_environment(pod, pod_spec.literals({"JOB_COMPLETION_INDEX": str(index)}))
        metadata.setdefault("labels", {}).update(labels)
        return dict(pod)

    def templates(self) -> list[Manifest]:
        """The pods as they are made first."""
        return [self._pod(index) for index in range(self.completions)]

    def _action(self, pod: Pod) -> str:
        """Of the first rule that fits; a pod that none fits counts."""
        for rule in self._spec.get("podFailurePolicy", {}).get("rules", []):
            codes = rule.get("onExitCodes")
            if codes is None:
                continue  # onPodConditions: nothing here drains a node
            container = pod_spec.container_of(pod.manifest)["name"]
            if codes.get("containerName", container) != container:
                continue
            if (pod.code in codes["values"]) == (codes["operator"] == "In"):
                return str(rule["action"])
        return "Count"

    def _fail(self, reason: str) -> None:
        self.state, self.reason = "Failed", reason
        self._cluster.say(f"Job {self.name} failed: {reason}")
        self.delete_pods()

    def delete_pods(self) -> None:
        """Those that run."""
        for pod in self._pods.values():
            if pod in self._cluster.pods and pod.phase in ("Pending", "Running"):
                self._cluster.delete(pod)

    def _on_failure(self, index: int, pod: Pod) -> None:
        action = self._action(pod)
        if action == "FailJob":
            self._fail("PodFailurePolicy")
            return
        if action == "Count":
            self._failures[index] = self._failures.get(index, 0) + 1
        per_index: Optional[int] = self._spec.get("backoffLimitPerIndex")
        if action == "FailIndex" or (per_index is not None and
                                     self._failures.get(index, 0) > per_index):
            self._failed.add(index)
            if len(self._failed) > self._spec.get("maxFailedIndexes", self.completions):
                self._fail("MaxFailedIndexesExceeded")
            return
        limit = self._spec.get("backoffLimit", 6 if per_index is None else 2**31)
        if sum(self._failures.values()) > limit:
            self._fail("BackoffLimitExceeded")
            return
        counted = self._failures.get(index, 0) if per_index is not None else \
            sum(self._failures.values())
        self._next_start[index] = self._cluster.now() + BACK_OFF * 2.0**max(counted - 1, 0)

    def step(self) -> None:
        """Makes pods that are missing, takes note of those that ended."""
        for index in range(self.completions):
            pod = self._pods.get(index)
            if self.state != "Running":
                return
            if index in self._succeeded or index in self._failed:
                continue
            if pod is None:
                if self._cluster.now() >= self._next_start.get(index, 0):
                    self._pods[index] = self._cluster.create(self._pod(index))
            elif pod.phase == "Succeeded":
                self._succeeded.add(index)
            elif pod.phase == "Failed":
                del self._pods[index]
                self._on_failure(index, pod)
        if len(self._succeeded) == self.completions:
            self.state = "Complete"
        elif len(self._succeeded) + len(self._failed) == self.completions:
            self._fail("FailedIndexes")


class PlainJob:
    """The launcher `kubectl apply` of a Job by itself."""

    def __init__(self, cluster: Cluster, objects: list[Manifest]) -> None:
        cluster.apply(objects)
        (manifest,) = [item for item in objects if item["kind"] == "Job"]
        self._job = BatchJob(cluster, manifest)

    def step(self) -> str:
        """Running, Complete or Failed."""
        self._job.step()
        return self._job.state

    def pods(self) -> list[Manifest]:
        """As they are made first."""
        return self._job.templates()
