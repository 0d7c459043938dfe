"""MPIJob, of the training operator (v1) and of the mpi-operator (v2beta1): workers that wait, and a
launcher whose mpirun reaches them by `kubectl exec` or by ssh. Facts: ../shared/facts/kubernetes.md
section 3.4. A worker's container is started again in place under OnFailure; a worker's pod that has
Failed ends the job under either operator. Called by operators.py."""
from __future__ import annotations

import copy
from typing import Optional

import pod_spec
import ssh_keys
from batch import BatchJob
from cluster import Cluster, Pod
from pod_spec import Manifest

_LABEL = "training.kubeflow.org/"
_NO_GPU = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
_KUBEXEC = """#!/bin/sh
set -x
POD_NAME=$1
shift
/opt/kube/kubectl exec ${POD_NAME} -- /bin/sh -c "$*"
"""


class MPIJob:
    """What both have in common."""

    def __init__(self, cluster: Cluster, objects: list[Manifest]) -> None:
        cluster.apply(objects)
        (manifest,) = [item for item in objects if item["kind"] == "MPIJob"]
        self._cluster = cluster
        self.name: str = manifest["metadata"]["name"]
        self.spec: Manifest = manifest["spec"]
        self._replicas: Manifest = self.spec["mpiReplicaSpecs"]
        self._slots = int(self.spec.get("slotsPerWorker", 1))
        self._workers: list[Pod] = []
        self.state = "Running"
        hosts = "".join(f"{self.host(i)} slots={self._slots}\n" for i in range(self.count()))
        cluster.maps[f"{self.name}-config"] = {"hostfile": hosts, "kubexec.sh": _KUBEXEC}

    def count(self) -> int:
        """Of workers."""
        return int(self._replicas["Worker"].get("replicas", 1))

    def host(self, index: int) -> str:
        """A worker in the hostfile."""
        raise NotImplementedError

    def worker(self, index: int) -> Manifest:
        """A worker's pod."""
        raise NotImplementedError

    def launcher(self) -> Manifest:
        """The launcher's pod, or its template."""
        raise NotImplementedError

    def _template(self, role: str, name: str) -> Manifest:
        pod = copy.deepcopy(self._replicas[role]["template"])
        pod.setdefault("metadata", {})["name"] = name
        pod["metadata"].setdefault("labels", {}).update({
            _LABEL + "job-name": self.name, _LABEL + "job-role": role.lower()})
        pod["spec"]["restartPolicy"] = self._replicas[role].get("restartPolicy", "Never")
        return dict(pod)

    def _config(self, pod: Manifest, **modes: int) -> None:
        items = [{"key": key.replace("_", "."), "path": key.replace("_", "."), "mode": mode}
                 for key, mode in modes.items()]
        pod_spec.add_volume(pod, {"name": "mpi-job-config", "configMap": {
            "name": f"{self.name}-config", "items": items}}, "/etc/mpi")

    def pods(self) -> list[Manifest]:
        """As they are made first."""
        return [self.launcher(), *(self.worker(i) for i in range(self.count()))]

    def _finish(self, state: str, running: list[Pod]) -> None:
        self.state = state
        self._cluster.say(f"MPIJob {self.name}: {state}")
        if self.spec.get("runPolicy", {}).get("cleanPodPolicy", "None") != "None":
            for pod in running:
                if pod in self._cluster.pods and pod.phase in ("Pending", "Running"):
                    self._cluster.delete(pod)

    def _step_launcher(self) -> str:
        """Running, Complete or Failed."""
        raise NotImplementedError

    def _launcher_pods(self) -> list[Pod]:
        raise NotImplementedError

    def step(self) -> str:
        """Running, Complete or Failed."""
        if self.state != "Running":
            return self.state
        if not self._workers:
            self._workers = [self._cluster.create(self.worker(i)) for i in range(self.count())]
        state = self._step_launcher()
        if state == "Running" and any(pod.phase == "Failed" for pod in self._workers):
            state = "Failed"
        if state != "Running":
            self._finish(state, [*self._workers, *self._launcher_pods()])
        return self.state


class MPIJobV1(MPIJob):
    """Of kubeflow.org/v1. Its workers have no Services: mpirun reaches them by the API server."""

    _launcher: Optional[Pod] = None

    def host(self, index: int) -> str:
        return f"{self.name}-worker-{index}"

    def worker(self, index: int) -> Manifest:
        pod = self._template("Worker", self.host(index))
        self._config(pod, kubexec_sh=0o555)
        return pod

    def launcher(self) -> Manifest:
        pod = self._template("Launcher", f"{self.name}-launcher")
        told = {"OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh",
                "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
                "I_MPI_HYDRA_BOOTSTRAP": "rsh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": "/etc/mpi/kubexec.sh"}
        told.update({} if pod_spec.gpus_of(pod) else _NO_GPU)
        pod_spec.set_environment(pod, pod_spec.literals(told))
        self._config(pod, hostfile=0o444, kubexec_sh=0o555)
        return pod

    def _launcher_pods(self) -> list[Pod]:
        return [self._launcher] if self._launcher else []

    def _step_launcher(self) -> str:
        if self._launcher is None:
            self._launcher = self._cluster.create(self.launcher())
        phase = self._launcher.phase
        return {"Succeeded": "Complete", "Failed": "Failed"}.get(phase, "Running")


class MPIJobV2(MPIJob):
    """Of kubeflow.org/v2beta1."""

    def __init__(self, cluster: Cluster, objects: list[Manifest]) -> None:
        super().__init__(cluster, objects)
        cluster.maps[f"{self.name}-ssh"] = ssh_keys.secret(self.name)
        self._job: Optional[BatchJob] = None
        self._as_worker = bool(self.spec.get("runLauncherAsWorker", False))
        cluster.headless_service(self.name, {_LABEL + "job-name": self.name}, self._as_worker)

    def host(self, index: int) -> str:
        return f"{self.name}-worker-{index}.{self.name}.{self._cluster.namespace}.svc"

    def _reachable(self, pod: Manifest, hostname: str) -> None:
        path = self.spec.get("sshAuthMountPath", "/root/.ssh")
        mode = 0o600 if path == "/root/.ssh" else 0o640
        pod_spec.add_volume(pod, {"name": "ssh-auth", "secret": {
            "secretName": f"{self.name}-ssh", "defaultMode": mode}}, path)
        pod["spec"].update({"hostname": hostname, "subdomain": self.name})

    def worker(self, index: int) -> Manifest:
        name = f"{self.name}-worker-{index}"
        pod = self._template("Worker", name)
        pod_spec.set_environment(pod, pod_spec.literals({"K_MPI_JOB_ROLE": "worker"}))
        self._reachable(pod, name)
        return pod

    def launcher(self) -> Manifest:
        name = f"{self.name}-launcher"
        pod = self._template("Launcher", name)
        told = {"K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
                "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
                "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
                "OMPI_MCA_orte_set_default_slots": str(self._slots)}
        told.update({} if self.spec.get("runLauncherAsWorker") else _NO_GPU)
        pod_spec.set_environment(pod, pod_spec.literals(told))
        self._config(pod, hostfile=0o444)
        self._reachable(pod, name)
        return pod

    def _launcher_pods(self) -> list[Pod]:
        return self._job.pods() if self._job else []

    def _step_launcher(self) -> str:
        waits = self.spec.get("launcherCreationPolicy", "AtStartup") == "WaitForWorkersReady"
        if self._job is None and (not waits or all(pod.ready for pod in self._workers)):
            limit = self.spec.get("runPolicy", {}).get("backoffLimit", 6)
            self._job = BatchJob(self._cluster, {
                "metadata": {"name": f"{self.name}-launcher"},
                "spec": {"backoffLimit": limit, "template": self.launcher()}})
        if self._job is None:
            return "Running"
        self._job.step()
        return self._job.state
