"""The launchers of the table in k8s/README.md, by the words that ctest and CMakeLists.txt know them
by. Called by launchers_test.py and launchers_planted_test.py."""
from __future__ import annotations

import users
from batch import uid_of
from launched import Launcher


def _trainer(runtime: str, job: str, name: str, **other: object) -> Launcher:
    hosts = (f"{name}-node-0-0", f"{name}-node-0-1")
    settings = {"change": users.train_job, "hosts": hosts, **other}
    return Launcher("trainer", (runtime, job), run=f"{name}-{uid_of('JobSet', name)}",
                    **settings)  # type: ignore[arg-type]


def _replicas(kind: str, part: str, name: str, *hosts: str) -> Launcher:
    change = users.tf_job if kind == "tfjob" else users.pytorch_job
    return Launcher(kind, (f"{kind}/{part}",), change, f"{kind}-{name}",
                    tuple(f"{name}-{host}" for host in hosts))


_RUNTIMES, _JOBS = "trainer/runtimes/", "trainer/jobs/"
LAUNCHERS = {
    "trainer-torch": _trainer(_RUNTIMES + "distributed", _JOBS + "cifar10.yaml", "cifar10"),
    "trainer-metrics": _trainer("../tests/k8s/overlays/metrics-runtime", _JOBS + "cifar10.yaml",
                                "cifar10", probes=("readinessProbe", "livenessProbe")),
    "trainer-dns": _trainer(_RUNTIMES + "distributed-dns", _JOBS + "cifar10-dns.yaml",
                            "cifar10-dns"),
    "trainer-namespaced": _trainer(_RUNTIMES + "namespaced", _JOBS + "cifar10-team.yaml",
                                   "cifar10-team"),
    "trainer-cpu": _trainer(_RUNTIMES + "distributed", _JOBS + "cifar10-cpu.yaml", "cifar10-cpu",
                            change=users.train_job_on_cpus),
    "trainer-mpi": _trainer(_RUNTIMES + "mpi", _JOBS + "cifar10-mpi.yaml", "cifar10-mpi",
                            hosts=("cifar10-mpi-launcher-0-0", "cifar10-mpi-node-0-0")),
    "trainer-volcano": _trainer("volcano/queue", "volcano/together.yaml", "cifar10-volcano"),
    "trainer-flux": _trainer(_RUNTIMES + "flux", _JOBS + "cifar10-flux.yaml", "cifar10-flux",
                             ranks_a_pod=1),
    "volcano-job": Launcher("volcano", ("volcano/queue", "volcano/job"), users.volcano_job,
                            "volcano-cifar10", ("cifar10-worker-0", "cifar10-worker-1")),
    "tfjob": _replicas("tfjob", "workers", "cifar10", "worker-0", "worker-1"),
    "tfjob-chief": _replicas("tfjob", "chief-worker", "cifar10-chief", "chief-0", "worker-0"),
    "pytorchjob": _replicas("pytorchjob", "workers", "cifar10", "worker-0", "worker-1"),
    "pytorchjob-master": _replicas("pytorchjob", "master-worker", "cifar10-master", "master-0",
                                   "worker-0"),
    "pytorchjob-elastic": _replicas("pytorchjob", "elastic", "cifar10-elastic", "worker-0",
                                    "worker-1"),
    "mpijob-v1": Launcher("mpijob-v1", ("mpijob/v1",), users.mpi_job, "mpijob-cifar10",
                          ("cifar10-worker-0", "cifar10-worker-1")),
    "mpijob-v2beta1": Launcher("mpijob-v2beta1", ("mpijob/v2beta1",), users.mpi_job,
                               f"cifar10-{uid_of('Job', 'cifar10-launcher')}",
                               ("cifar10-worker-0", "cifar10-worker-1")),
    "job-indexed": Launcher("job", ("job/indexed",), users.job,
                            f"cifar10-node-0-{uid_of('Job', 'cifar10-node-0')}",
                            ("cifar10-node-0-0", "cifar10-node-0-1")),
    "job-single": Launcher("job", ("job/single",), users.job, f"mnist-{uid_of('Job', 'mnist')}",
                           ("mnist-00001",), model="mnist-cnn", data="mnist-data", nodes=1,
                           more_nodes=None),
}
