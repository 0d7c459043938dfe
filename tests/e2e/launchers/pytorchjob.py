"""PyTorchJob: pods are told PET_*, with a master MASTER_ADDR besides. Facts:
../shared/facts/kubernetes.md section 3.3. The init container that the operator gives to workers
beside a master, which waits for the master's name, is a wait of the pod here. Called by
operators.py."""
from __future__ import annotations

from operator_v1 import ReplicaJob
from pod_spec import Manifest

_PORT = "23456"


class PyTorchJob(ReplicaJob):
    """As the training operator 1.9 runs it."""

    kind = "PyTorchJob"
    field = "pytorchReplicaSpecs"
    container = "pytorch"
    default_restart_policy = "OnFailure"
    order = ("Master", "Worker")

    def _elastic(self) -> dict[str, str]:
        policy = self.spec["elasticPolicy"]
        low, high = (policy.get(key, self.total()) for key in ("minReplicas", "maxReplicas"))
        host = policy.get("rdzvHost", self.pod_name("Worker", 0))
        told = {"PET_RDZV_ENDPOINT": f"{host}:{policy.get('rdzvPort', _PORT)}",
                "PET_RDZV_BACKEND": policy.get("rdzvBackend", "c10d"),
                "PET_NNODES": f"{low}:{high}"}
        for field, name in (("nProcPerNode", "PET_NPROC_PER_NODE"), ("rdzvId", "PET_RDZV_ID"),
                            ("maxRestarts", "PET_MAX_RESTARTS")):
            if field in policy:
                told[name] = str(policy[field])
        return told

    def _with_master(self, replica: str, index: int, ranks: str) -> dict[str, str]:
        per_node = int(ranks) if ranks.isdigit() else 1
        rank = str(index if replica == "Master" else index + 1)
        master = self.pod_name("Master", 0)
        return {"MASTER_ADDR": master, "PET_MASTER_ADDR": master, "MASTER_PORT": _PORT,
                "PET_MASTER_PORT": _PORT, "WORLD_SIZE": str(self.total() * per_node),
                "RANK": rank, "PET_NODE_RANK": rank}

    def variables(self, replica: str, index: int) -> dict[str, str]:
        told = {"PYTHONUNBUFFERED": "1"}
        if "elasticPolicy" in self.spec:
            told.update(self._elastic())
            return told
        ranks = str(self.spec.get("nprocPerNode", "auto"))
        told.update({"PET_NPROC_PER_NODE": ranks, "PET_NNODES": str(self.total())})
        if "Master" in self.replicas:
            told.update(self._with_master(replica, index, ranks))
        return told

    def adjust(self, pod: Manifest, replica: str, index: int) -> None:
        if replica == "Worker" and "Master" in self.replicas:
            pod["waits-for-name"] = self.pod_name("Master", 0)

    def is_done(self, succeeded: set[str]) -> bool:
        if "Master" in self.replicas:
            return self.pod_name("Master", 0) in succeeded
        if "elasticPolicy" in self.spec:
            return bool(succeeded)
        return len(succeeded) == self.total()
