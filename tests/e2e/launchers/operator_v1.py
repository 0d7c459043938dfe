"""What the training operator's kinds (kubeflow.org/v1) have in common: a pod and a headless Service
for each replica, restarts by exit code, what is cleaned up at the end. Facts:
../shared/facts/kubernetes.md section 3.1. Called by tfjob.py and pytorchjob.py."""
from __future__ import annotations

import copy
from typing import Optional

import pod_spec
from cluster import Cluster, Pod
from pod_spec import Manifest

_PREFIX = "training.kubeflow.org/"


class ReplicaJob:
    """A job of replicas. A kind says what a pod is told, and when the job is done."""

    kind = ""
    field = ""  # of the spec, that holds the replicas by type
    container = ""  # whose exit code counts, and which is told
    default_restart_policy = "Never"
    order: tuple[str, ...] = ()  # of the types

    def __init__(self, cluster: Cluster, objects: list[Manifest]) -> None:
        cluster.apply(objects)
        (self.manifest,) = [item for item in objects if item["kind"] == self.kind]
        self._cluster = cluster
        self.name: str = self.manifest["metadata"]["name"]
        self.spec: Manifest = self.manifest["spec"]
        self.replicas: Manifest = self.spec[self.field]
        self._pods: dict[str, Pod] = {}  # by name
        self._done: dict[str, str] = {}  # the phase of those that ended for good
        self.state = "Running"

    # --- what a kind says -----------------------------------------------------------------------

    def variables(self, replica: str, index: int) -> dict[str, str]:
        """What a pod is told."""
        raise NotImplementedError

    def adjust(self, pod: Manifest, replica: str, index: int) -> None:
        """What else is done to a pod."""

    def is_done(self, succeeded: set[str]) -> bool:
        """Whether the job has succeeded with these pods."""
        raise NotImplementedError

    # --- pods -----------------------------------------------------------------------------------

    def count(self, replica: str) -> int:
        """Of a type."""
        return int(self.replicas.get(replica, {}).get("replicas", 1)) if replica in self.replicas \
            else 0

    def total(self) -> int:
        """Of all types."""
        return sum(self.count(replica) for replica in self.replicas)

    def pod_name(self, replica: str, index: int) -> str:
        """And of its Service."""
        return f"{self.name}-{replica.lower()}-{index}"

    def _places(self) -> list[tuple[str, int]]:
        return [(replica, index) for replica in self.order for index in range(self.count(replica))]

    def _policy(self, replica: str) -> str:
        return str(self.replicas[replica].get("restartPolicy", self.default_restart_policy))

    def _labels(self, replica: str, index: int) -> dict[str, str]:
        return {_PREFIX + "job-name": self.name, _PREFIX + "replica-type": replica.lower(),
                _PREFIX + "replica-index": str(index),
                _PREFIX + "operator-name": f"{self.kind.lower()}-controller"}

    def pod(self, replica: str, index: int) -> Manifest:
        """As it is created."""
        pod = copy.deepcopy(self.replicas[replica]["template"])
        metadata = pod.setdefault("metadata", {})
        metadata["name"] = self.pod_name(replica, index)
        metadata.setdefault("labels", {}).update(self._labels(replica, index))
        policy = self._policy(replica)
        pod["spec"]["restartPolicy"] = "Never" if policy == "ExitCode" else policy
        pod_spec.set_environment(pod, pod_spec.literals(self.variables(replica, index)),
                                 self.container)
        self.adjust(pod, replica, index)
        return dict(pod)

    def pods(self) -> list[Manifest]:
        """As they are made first."""
        return [self.pod(replica, index) for replica, index in self._places()]

    # --- control --------------------------------------------------------------------------------

    def _may_be_retried(self, pod: Pod, policy: str) -> bool:
        """A pod that Failed. Codes of containers of another name are not seen."""
        if policy in ("OnFailure", "Always"):
            return True
        seen = pod_spec.container_of(pod.manifest)["name"] == self.container
        return policy == "ExitCode" and seen and (pod.code or 0) >= 128

    def _finish(self, state: str) -> None:
        self.state = state
        self._cluster.say(f"{self.kind} {self.name}: {state}")
        if self.spec.get("runPolicy", {}).get("cleanPodPolicy", "None") == "None":
            return
        for pod in self._pods.values():
            if pod in self._cluster.pods and pod.phase in ("Pending", "Running"):
                self._cluster.delete(pod)

    def _look_at(self, replica: str, index: int) -> Optional[str]:
        """Makes the pod if it is not there; "Failed" if that ends the job."""
        name = self.pod_name(replica, index)
        pod = self._pods.get(name)
        if pod is None or pod not in self._cluster.pods:
            if name in self._done:
                return None
            if pod is None:
                self._cluster.headless_service(name, self._labels(replica, index), early=False)
            self._pods[name] = self._cluster.create(self.pod(replica, index))
        elif pod.phase == "Succeeded":
            self._done[name] = "Succeeded"
        elif pod.phase == "Failed" and pod.deleted is None:
            if not self._may_be_retried(pod, self._policy(replica)):
                return "Failed"
            self._cluster.delete(pod)
        return None

    def step(self) -> str:
        """Running, Complete or Failed."""
        if self.state != "Running":
            return self.state
        for replica, index in self._places():
            if self._look_at(replica, index) == "Failed":
                self._finish("Failed")
                return self.state
        if self.is_done(set(self._done)):
            self._finish("Complete")
        return self.state
