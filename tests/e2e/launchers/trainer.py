"""Kubeflow Trainer v2: a TrainJob over its runtime becomes a JobSet, into which the runtime's
policy writes what its pods are told. Facts: ../shared/facts/kubernetes.md section 1. Under Volcano
it makes a PodGroup besides, which changes nothing for pods that all fit. Flux takes the place of
the command; of that only what it tells a task is known here. Called by operators.py."""
from __future__ import annotations

import copy
from typing import Any, Optional

import pod_spec
import ssh_keys
from cluster import Cluster
from jobset import JobSet
from pod_spec import Manifest, Refused

_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_RESERVED = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR",
             "PET_MASTER_PORT", "OMPI_MCA_", "DMLC_")
_INDEX = {"fieldRef": {"fieldPath":
                       "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}


def _pod_of(replicated: Manifest) -> Manifest:
    return dict(replicated["template"]["spec"]["template"])


def _node(pod: Manifest) -> Manifest:
    """The container that a TrainJob changes."""
    for container in pod["spec"]["containers"]:
        if container["name"] == "node":
            return dict(container)
    raise Refused("no container `node` in the trainer's job")


class TrainJob:
    """Makes the JobSet, as the controller of a release from 2.0 to 2.3."""

    def __init__(self, runtime: Manifest, job: Manifest, merges_resources: bool = False) -> None:
        self.name: str = job["metadata"]["name"]
        self._merges = merges_resources  # from 2.3 on
        self._policy: Manifest = runtime["spec"].get("mlPolicy", {})
        self._trainer: Optional[Manifest] = job["spec"].get("trainer")
        self._said: Manifest = self._trainer or {}
        self.spec: Manifest = copy.deepcopy(runtime["spec"]["template"]["spec"])
        self.maps: dict[str, dict[str, str]] = {}
        self._nodes = int(self._said.get("numNodes", self._policy.get("numNodes", 1)))
        for entry in self._said.get("env", []):
            if entry["name"].startswith(_RESERVED):
                raise Refused(f"TrainJob {self.name}: {entry['name']} is reserved")
        for replicated in self.spec["replicatedJobs"]:
            if replicated.get("replicas", 1) != 1:
                raise Refused(f"{replicated['name']}: replicas always must be 1")
        if not runtime["spec"].get("mlPolicy"):
            raise Refused("no mlPolicy: numNodes and resourcesPerNode would be ignored")
        self._ancestor = self._replicated_of_trainer()
        self._override()
        self._enforce()

    def _replicated_of_trainer(self) -> Manifest:
        for replicated in self.spec["replicatedJobs"]:
            labels = replicated["template"].get("metadata", {}).get("labels", {})
            if labels.get(_ANCESTOR) == "trainer":
                return dict(replicated)
        raise Refused(f"no job has the label {_ANCESTOR}: trainer")

    def _override(self) -> None:
        pod = self._ancestor["template"]["spec"]["template"]
        for container in pod["spec"]["containers"]:
            if container["name"] != "node":
                continue
            for key in ("image", "command", "args"):
                if key in self._said:
                    container[key] = self._said[key]
            self._set_resources(container)
        pod_spec.set_environment(pod, self._said.get("env", []), "node")

    def _set_resources(self, container: Manifest) -> None:
        resources = self._said.get("resourcesPerNode")
        if resources and not self._merges:
            container["resources"] = copy.deepcopy(resources)
        elif resources:
            for part, values in resources.items():
                container["resources"].setdefault(part, {}).update(values)

    def _gpus(self) -> int:
        """The controller's count: the first resource whose name contains "gpu"."""
        resources = _node(_pod_of(self._ancestor)).get("resources", {})
        for part in ("requests", "limits"):
            for name, value in resources.get(part, {}).items():
                if "gpu" in name:
                    return int(value)
        return 0

    def _enforce(self) -> None:
        """The policy's part."""
        if "mpi" in self._policy:
            self._enforce_mpi()
            return
        if self._ancestor["name"] != "node":
            raise Refused(f"job {self._ancestor['name']}: names of pods are made of `node`")
        job = self._ancestor["template"]["spec"]
        job["parallelism"] = job["completions"] = self._nodes
        if "flux" in self._policy:
            pod_spec.set_environment(job["template"], self._flux(), "node")
        if "torch" in self._policy and self._trainer is not None:
            pod_spec.set_environment(job["template"], self._torch(), "node")

    def _torch(self) -> list[Manifest]:
        ranks = self._said.get("numProcPerNode")
        if ranks is None and self._gpus():
            ranks = "auto"
        elif ranks is None:
            limits = _node(_pod_of(self._ancestor)).get("resources", {}).get("limits", {})
            ranks = max(1, int(limits.get("cpu", 1)))
        entries: list[dict[str, Any]] = pod_spec.literals({
            "PET_NNODES": str(self._nodes), "PET_NPROC_PER_NODE": str(ranks),
            "PET_MASTER_ADDR": f"{self.name}-node-0-0.{self.name}", "PET_MASTER_PORT": "29500"})
        return [*entries, {"name": "PET_NODE_RANK", "valueFrom": _INDEX}]

    def _flux(self) -> list[Manifest]:
        """What Flux tells the one task that it starts in each pod."""
        entries: list[dict[str, Any]] = pod_spec.literals({
            "FLUX_JOB_SIZE": str(self._nodes), "FLUX_TASK_LOCAL_ID": "0", "FLUX_JOB_ID": "f1"})
        return [*entries, {"name": "FLUX_TASK_RANK", "valueFrom": _INDEX}]

    def _enforce_mpi(self) -> None:
        policy = self._policy["mpi"]
        as_node = policy.get("runLauncherAsNode", False)
        nodes = max(self._nodes - 1, 1) if as_node else self._nodes
        # A TrainJob's numNodes is that of the pods `node`; the job with the trainer's label, the
        # launcher's, has as many pods as the runtime itself says.
        counts = {self._ancestor["name"]: int(self._policy.get("numNodes", 1)), "node": nodes}
        slots = int(self._said.get("numProcPerNode", policy.get("numProcPerNode", 1)))
        slots = max(slots, self._gpus())
        host_file, keys = f"{self.name}-mpi-hostfile", f"{self.name}-mpi-ssh-auth"
        lines, path = "", policy.get("sshAuthMountPath", "/root/.ssh")
        for replicated in self.spec["replicatedJobs"]:
            job = replicated["template"]["spec"]
            pods = counts.get(replicated["name"], 1)
            job["parallelism"] = job["completions"] = pods
            if replicated["name"] == "node":
                self._give_nodes_the_resources(job["template"])
            if replicated["name"] == "node" or as_node:
                lines += "".join(f"{self.name}-{replicated['name']}-0-{i}.{self.name} "
                                 f"slots={slots}\n" for i in range(pods))
            pod_spec.add_volume(job["template"], {
                "name": "mpi-ssh-auth", "secret": {"secretName": keys, "defaultMode": 0o600 if
                                                   path == "/root/.ssh" else 0o640}}, path)
            if replicated["name"] == "launcher":
                pod_spec.add_volume(job["template"], {
                    "name": "mpi-hostfile", "configMap": {"name": host_file}}, "/etc/mpi")
                pod_spec.set_environment(job["template"], pod_spec.literals({
                    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
                    "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
                    "OMPI_MCA_orte_set_default_slots": str(slots),
                    "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10"}), "node")
        self.maps = {host_file: {"hostfile": lines}, keys: ssh_keys.secret(self.name)}

    def _give_nodes_the_resources(self, pod: Manifest) -> None:
        """From 2.1 on a TrainJob's resources are those of the pods `node`, too."""
        for container in pod["spec"]["containers"]:
            if container["name"] == "node":
                self._set_resources(container)

    def jobset(self) -> Manifest:
        """What the JobSet controller is given."""
        return {"metadata": {"name": self.name}, "spec": self.spec}


class Trainer:
    """The launcher: the first training runtime and the first TrainJob among the objects."""

    def __init__(self, cluster: Cluster, objects: list[Manifest]) -> None:
        cluster.apply(objects)
        runtimes = {item["metadata"]["name"]: item for item in objects
                    if item["kind"] in ("ClusterTrainingRuntime", "TrainingRuntime")}
        (job,) = [item for item in objects if item["kind"] == "TrainJob"]
        reference = job["spec"]["runtimeRef"]
        runtime = runtimes[reference["name"]]
        if runtime["kind"] != reference.get("kind", "ClusterTrainingRuntime"):
            raise Refused(f"{reference['name']} is a {runtime['kind']}")
        train_job = TrainJob(runtime, job)
        cluster.maps.update(train_job.maps)
        self._jobset = JobSet(cluster, train_job.jobset())

    def step(self) -> str:
        """Running, Complete or Failed."""
        return self._jobset.step()

    def pods(self) -> list[Manifest]:
        """As they are made first."""
        return self._jobset.templates()
