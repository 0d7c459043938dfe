"""What a researcher changes in a manifest of k8s/, and nothing else: arguments, the number of nodes
in the fields that k8s/README.md names, GPUs a node. By these the tests make a job of seconds out of
one of hours. Called by the tests."""
from __future__ import annotations

import copy
from typing import Any

from pod_spec import Manifest

Objects = list[Manifest]


def the(objects: Objects, kind: str) -> Manifest:
    """The one object of a kind."""
    (found,) = [item for item in objects if item["kind"] == kind]
    return found


def _gpus(resources: dict[str, Any], gpus: int) -> None:
    for part in ("requests", "limits"):
        resources.setdefault(part, {})["nvidia.com/gpu"] = str(gpus)


def train_job(objects: Objects, nodes: int, gpus: int, args: list[str]) -> None:
    """TrainJob: numNodes, args, resourcesPerNode."""
    trainer = the(objects, "TrainJob")["spec"]["trainer"]
    trainer.update(numNodes=nodes, args=args)
    _gpus(trainer["resourcesPerNode"], gpus)


def train_job_on_cpus(objects: Objects, nodes: int, gpus: int, args: list[str]) -> None:
    """TrainJob without GPUs: numProcPerNode instead."""
    trainer = the(objects, "TrainJob")["spec"]["trainer"]
    trainer.update(numNodes=nodes, args=[*args, "--device", "cpu"], numProcPerNode=gpus)


def _replicas(job: Manifest, field: str, first: str, nodes: int, gpus: int,
              args: list[str]) -> None:
    """Of a legacy operator: the workers are as many as the first leaves."""
    replicas = job["spec"][field]
    replicas["Worker"]["replicas"] = nodes - (first in replicas)
    for replica in replicas.values():
        (container,) = replica["template"]["spec"]["containers"]
        container["args"] = args
        _gpus(container["resources"], gpus)


def tf_job(objects: Objects, nodes: int, gpus: int, args: list[str]) -> None:
    """TFJob: the workers' replicas, args, resources."""
    _replicas(the(objects, "TFJob"), "tfReplicaSpecs", "Chief", nodes, gpus, args)


def pytorch_job(objects: Objects, nodes: int, gpus: int, args: list[str]) -> None:
    """PyTorchJob: the same; elastic: minReplicas, maxReplicas and nProcPerNode, too."""
    job = the(objects, "PyTorchJob")
    _replicas(job, "pytorchReplicaSpecs", "Master", nodes, gpus, args)
    if "elasticPolicy" in job["spec"]:
        job["spec"]["elasticPolicy"].update(minReplicas=nodes, maxReplicas=nodes, nProcPerNode=gpus)


def mpi_job(objects: Objects, nodes: int, gpus: int, args: list[str]) -> None:
    """MPIJob: the workers' replicas and resources, slotsPerWorker, the launcher's args."""
    spec = the(objects, "MPIJob")["spec"]
    worker, launcher = (spec["mpiReplicaSpecs"][role] for role in ("Worker", "Launcher"))
    worker["replicas"], spec["slotsPerWorker"] = nodes, gpus
    _gpus(worker["template"]["spec"]["containers"][0]["resources"], gpus)
    launcher["template"]["spec"]["containers"][0]["args"] = args


def volcano_job(objects: Objects, nodes: int, gpus: int, args: list[str]) -> None:
    """Volcano's Job: the task's replicas and minAvailable, args, resources."""
    spec = the(objects, "Job")["spec"]
    spec["minAvailable"] = spec["tasks"][0]["replicas"] = nodes
    (container,) = spec["tasks"][0]["template"]["spec"]["containers"]
    container["args"] = args
    _gpus(container["resources"], gpus)


def job(objects: Objects, nodes: int, gpus: int, args: list[str]) -> None:
    """A plain Job. Of one pod, which nobody tells to use all its GPUs: `--ranks auto` besides; an
    indexed one: completions, parallelism and ANNULUS_NODES."""
    spec = the(objects, "Job")["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    container["args"] = args
    _gpus(container["resources"], gpus)
    if "completions" not in spec:
        assert nodes == 1, "a Job of one pod"
        container["args"] = [*args, "--ranks", "auto"]
        return
    spec["completions"] = spec["parallelism"] = nodes
    (entry,) = [entry for entry in container["env"] if entry["name"] == "ANNULUS_NODES"]
    entry["value"] = str(nodes)


def changed(objects: Objects, change: Any, nodes: int, gpus: int, args: list[str]) -> Objects:
    """A copy with the change made."""
    mine = copy.deepcopy(objects)
    change(mine, nodes, gpus, args)
    return mine
