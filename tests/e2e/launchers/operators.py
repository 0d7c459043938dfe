"""Who runs the manifests of k8s/: each controller by a word. Called by play.py and
launchers_environment_test.py."""
from __future__ import annotations

from typing import Callable, Protocol

from batch import PlainJob
from cluster import Cluster
from mpijob import MPIJobV1, MPIJobV2
from pod_spec import Manifest
from pytorchjob import PyTorchJob
from tfjob import TFJob
from trainer import Trainer
from volcano import VolcanoJob


class Operator(Protocol):
    """Made with the objects that are applied."""

    def step(self) -> str:
        """Does what is due; Running, Complete or Failed."""

    def pods(self) -> list[Manifest]:
        """As they are made first."""


_KINDS: dict[str, Callable[[Cluster, list[Manifest]], Operator]] = {
    "trainer": Trainer, "tfjob": TFJob, "pytorchjob": PyTorchJob, "mpijob-v1": MPIJobV1,
    "mpijob-v2beta1": MPIJobV2, "volcano": VolcanoJob, "job": PlainJob}


def operator(kind: str, cluster: Cluster, objects: list[Manifest]) -> Operator:
    """Of that word, for the objects of one job."""
    return _KINDS[kind](cluster, objects)
