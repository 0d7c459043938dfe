"""TFJob: every pod is told all others by TF_CONFIG. Facts: ../shared/facts/kubernetes.md section
3.2. Called by operators.py."""
from __future__ import annotations

import json

from operator_v1 import ReplicaJob


class TFJob(ReplicaJob):
    """As the training operator 1.9 runs it."""

    kind = "TFJob"
    field = "tfReplicaSpecs"
    container = "tensorflow"
    order = ("Chief", "Evaluator", "Master", "PS", "Worker")

    def variables(self, replica: str, index: int) -> dict[str, str]:
        if self.total() == 1:
            return {}
        suffix = f".{self._cluster.namespace}.svc:2222"
        cluster = {kind.lower(): [self.pod_name(kind, i) + suffix for i in range(self.count(kind))]
                   for kind in self.order if kind in self.replicas}
        task = {"type": replica.lower(), "index": index}
        told = {"cluster": cluster, "task": task, "environment": "cloud"}
        return {"TF_CONFIG": json.dumps(told, separators=(",", ":"))}

    def is_done(self, succeeded: set[str]) -> bool:
        for first in ("Chief", "Master"):
            if first in self.replicas:
                return self.pod_name(first, 0) in succeeded
        if self.spec.get("successPolicy") == "AllWorkers":
            return len(succeeded) == self.total()
        return self.pod_name("Worker", 0) in succeeded
