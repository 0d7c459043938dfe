"""Volcano's own Job: its plugins svc and env tell each pod all others and its number, and its
policies say what a failed pod means for the others. Facts: ../shared/facts/kubernetes.md section 4.
Called by operators.py."""
from __future__ import annotations

import copy
from typing import Any, Optional

import pod_spec
from cluster import Cluster, Pod
from pod_spec import Manifest, Refused

_NAME = "volcano.sh/job-name"
_KNOWN = {"RestartJob", "TerminateJob", "AbortJob", "CompleteJob"}


class VolcanoJob:
    """A Job of batch.volcano.sh, in one start after the other."""

    def __init__(self, cluster: Cluster, objects: list[Manifest]) -> None:
        cluster.apply(objects)
        (manifest,) = [item for item in objects if item["apiVersion"].startswith("batch.volcano")
                       and item["kind"] == "Job"]
        self._cluster = cluster
        self.name: str = manifest["metadata"]["name"]
        self._spec: Manifest = manifest["spec"]
        self._retries = 0
        self._pods: list[Pod] = []
        self.state = "Running"
        self._ends_as = ""  # once it is decided
        for policy in self._spec.get("policies", []):
            if policy["action"] not in _KNOWN:
                raise Refused(f"{policy['action']} is not known here")
        total = sum(int(task["replicas"]) for task in self._spec["tasks"])
        if int(self._spec.get("minAvailable", total)) > total:
            raise Refused(f"Job {self.name}: minAvailable is above the replicas of all tasks")
        plugins: dict[str, Any] = self._spec.get("plugins", {})
        if "svc" in plugins:
            cluster.headless_service(self.name, {_NAME: self.name}, early=(
                "--publish-not-ready-addresses" in plugins["svc"]))
            cluster.maps[f"{self.name}-svc"] = {
                f"{task['name']}.host": "\n".join(self._hosts(task))
                for task in self._spec["tasks"]}

    def _hosts(self, task: Manifest) -> list[str]:
        return [f"{self.name}-{task['name']}-{i}.{self.name}" for i in range(task["replicas"])]

    def _told(self, index: int) -> dict[str, str]:
        told: dict[str, str] = {}
        if "svc" in self._spec.get("plugins", {}):
            for task in self._spec["tasks"]:
                key = "VC_" + task["name"].upper().replace("-", "_")
                hosts = self._hosts(task)
                told.update({f"{key}_HOSTS": ",".join(hosts), f"{key}_NUM": str(len(hosts))})
        if "env" in self._spec.get("plugins", {}):
            told.update({"VC_TASK_INDEX": str(index), "VK_TASK_INDEX": str(index)})
        return told

    def _pod(self, task: Manifest, index: int) -> Manifest:
        pod = copy.deepcopy(task["template"])
        metadata, spec = pod.setdefault("metadata", {}), pod["spec"]
        metadata["name"] = f"{self.name}-{task['name']}-{index}"
        metadata.setdefault("labels", {})[_NAME] = self.name
        metadata.setdefault("annotations", {}).update({
            _NAME: self.name, "volcano.sh/task-spec": task["name"],
            "volcano.sh/task-index": str(index), "volcano.sh/job-version": str(self._retries),
            "volcano.sh/job-retry-count": str(self._retries)})
        pod_spec.set_environment(pod, pod_spec.literals(self._told(index)))
        if "svc" in self._spec.get("plugins", {}):
            spec.setdefault("hostname", metadata["name"])
            spec.setdefault("subdomain", self.name)
            pod_spec.add_volume(pod, {"name": f"{self.name}-svc", "configMap": {
                "name": f"{self.name}-svc"}}, "/etc/volcano")
        return dict(pod)

    def pods(self) -> list[Manifest]:
        """As they are made first."""
        return [self._pod(task, index) for task in self._spec["tasks"]
                for index in range(task["replicas"])]

    def _action(self, pod: Pod) -> Optional[str]:
        """Of the first policy that fits a pod that Failed, of the job's."""
        for policy in self._spec.get("policies", []):
            events = policy.get("events", [policy["event"]] if "event" in policy else [])
            if "PodFailed" in events or "*" in events or policy.get("exitCode") == pod.code:
                return str(policy["action"])
        return None

    def _remove_all(self, ended_too: bool) -> None:
        for pod in self._pods:
            if pod in self._cluster.pods and (ended_too or pod.phase in ("Pending", "Running")):
                self._cluster.delete(pod)

    def _decide(self, pod: Pod) -> None:
        action = self._action(pod)
        self._cluster.say(f"Job {self.name}: {pod.name} failed with {pod.code}: {action}")
        if action == "RestartJob" and self._retries < int(self._spec.get("maxRetry", 3)):
            self._ends_as = "restart"
            self._remove_all(ended_too=True)
        elif action is not None:
            self._ends_as = "Complete" if action == "CompleteJob" else "Failed"
            self._remove_all(ended_too=False)

    def step(self) -> str:
        """Running, Complete or Failed."""
        if self._ends_as == "restart":
            if any(pod in self._cluster.pods for pod in self._pods):
                return self.state
            self._retries, self._pods, self._ends_as = self._retries + 1, [], ""
        if self._ends_as:
            self.state = self._ends_as
            return self.state
        if not self._pods:
            self._pods = [self._cluster.create(pod) for pod in self.pods()]
        for pod in self._pods:
            if pod.phase == "Failed" and pod.deleted is None:
                self._decide(pod)
                if self._ends_as:
                    return self.state
        phases = [pod.phase for pod in self._pods]
        if all(phase in ("Succeeded", "Failed") for phase in phases):
            self.state = "Failed" if "Failed" in phases else "Complete"
        return self.state
