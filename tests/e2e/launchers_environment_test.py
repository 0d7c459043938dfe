#!/usr/bin/env python3
"""What the test controller tells a pod is what the operators' sources do: for every launcher, the
manifest of k8s/ with the spec of a case in ../shared/k8s/env_fixtures.json gives the case's
variables, no more and no less, its host name and its files. Needs no root; skipped without kubectl
or ../shared. Run by ctest. usage: launchers_environment_test.py"""
from __future__ import annotations

import copy
import json
import os
import pathlib
import sys
import unittest
from typing import Any, Callable

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "launchers"), str(HERE.parent / "k8s")]

import case  # noqa: E402  (needs the path above)
import kustomize  # noqa: E402
import launched  # noqa: E402
import pod_spec  # noqa: E402
from objects import Objects  # noqa: E402
from operators import operator  # noqa: E402
from trainer import TrainJob  # noqa: E402
from users import the  # noqa: E402

Change = Callable[[list[Any]], None]
# No manifest of k8s/ asks for these; engine's tests read them.
NOT_OURS = {
    "trainer2-jax": "the policy jax", "tfjob-dynamic-worker": "enableDynamicWorker",
    "trainer2-status": "the gate TrainJobStatus, tested with its server", "katib": "a trial",
    "volcano-tensorflow": "the plugin tensorflow", "volcano-pytorch": "the plugin pytorch"}
# The operator sets it in every PyTorchJob (facts/kubernetes.md 3.3); this case leaves it out.
UNTOLD = {"pytorchjob-master-8": {"PYTHONUNBUFFERED": "1"}}


def _trainer(part: str, job: str, **spec: Any) -> tuple[str, tuple[str, ...], Change]:
    def change(objects: list[Any]) -> None:
        the(objects, "TrainJob")["spec"]["trainer"].update(spec)
    return "trainer", (f"trainer/runtimes/{part}", f"trainer/jobs/{job}.yaml"), change


def _mpi_of_eight(objects: list[Any]) -> None:
    runtime = the(objects, "ClusterTrainingRuntime")
    runtime["spec"]["mlPolicy"]["mpi"].update(runLauncherAsNode=False, numProcPerNode=8)


def _slots(objects: list[Any]) -> None:
    the(objects, "MPIJob")["spec"]["slotsPerWorker"] = 8


def _single(objects: list[Any]) -> None:
    the(objects, "TFJob")["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 1


def _all_types(objects: list[Any]) -> None:
    replicas = the(objects, "TFJob")["spec"]["tfReplicaSpecs"]
    replicas["Worker"]["replicas"] = 1
    for kind in ("Chief", "PS", "Evaluator"):
        replicas[kind] = copy.deepcopy(replicas["Worker"])


def _eight_ranks(objects: list[Any]) -> None:
    the(objects, "PyTorchJob")["spec"]["nprocPerNode"] = "8"


def _elastic_as_the_guide(objects: list[Any]) -> None:
    policy = the(objects, "PyTorchJob")["spec"]["elasticPolicy"]
    policy["rdzvId"] = "mnist"
    del policy["maxRestarts"]


def _unchanged(_: list[Any]) -> None:
    pass


CASES: dict[str, tuple[str, tuple[str, ...], Change]] = {
    "trainer2-plain": _trainer("distributed-dns", "cifar10-dns"),
    "trainer2-torch-gpu-auto": _trainer("distributed", "cifar10"),
    "trainer2-torch-int": _trainer("distributed", "cifar10-cpu", numProcPerNode=8),
    "trainer2-mpi-launcher": ("trainer", ("trainer/runtimes/mpi", "trainer/jobs/cifar10-mpi.yaml"),
                              _mpi_of_eight),
    "tfjob-worker": ("tfjob", ("tfjob/workers",), _unchanged),
    "tfjob-chief-ps-eval": ("tfjob", ("tfjob/workers",), _all_types),
    "tfjob-single": ("tfjob", ("tfjob/workers",), _single),
    "pytorchjob-master-auto": ("pytorchjob", ("pytorchjob/master-worker",), _unchanged),
    "pytorchjob-master-8": ("pytorchjob", ("pytorchjob/master-worker",), _eight_ranks),
    "pytorchjob-elastic": ("pytorchjob", ("pytorchjob/elastic",), _elastic_as_the_guide),
    "pytorchjob-workers-only": ("pytorchjob", ("pytorchjob/workers",), _unchanged),
    "mpijob-v2beta1-worker": ("mpijob-v2beta1", ("mpijob/v2beta1",), _slots),
    "mpijob-v2beta1-launcher": ("mpijob-v2beta1", ("mpijob/v2beta1",), _slots),
    "mpijob-v1-launcher": ("mpijob-v1", ("mpijob/v1",), _slots),
    "volcano-env-svc": ("volcano", ("volcano/job",), _unchanged),
    "batch-job-single": ("job", ("job/single",), _unchanged),
}


def _name(objects: list[Any], name: str) -> None:
    """The job is called as in the case."""
    for item in objects:
        if item["kind"].endswith("Job"):
            item["metadata"]["name"] = name


def _said(objects: list[Any]) -> set[str]:
    """The variables that manifests set themselves."""
    names: set[str] = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            names.update(entry["name"] for entry in node.get("env", []))
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(objects)
    return names


def _file(pod: dict[str, Any], maps: pod_spec.ConfigMaps, path: str) -> str:
    """The content of a file that a ConfigMap is mounted for."""
    folder, name = os.path.split(path)
    (mount,) = [mount for mount in pod_spec.container_of(pod)["volumeMounts"]
                if mount["mountPath"] == folder]
    (volume,) = [volume for volume in pod["spec"]["volumes"] if volume["name"] == mount["name"]]
    items = volume["configMap"].get("items", [{"key": name, "path": name}])
    (key,) = [item["key"] for item in items if item["path"] == name]
    return maps[volume["configMap"]["name"]][key]


class Environment(unittest.TestCase):
    """Of the first pods of each launcher."""

    fixtures: list[dict[str, Any]] = []
    maxDiff = None

    def test_every_case_is_here_or_not_ours(self) -> None:
        """None is forgotten."""
        self.assertEqual({fixture["case"] for fixture in self.fixtures},
                         set(CASES) | set(NOT_OURS))

    def _check(self, fixture: dict[str, Any]) -> None:
        kind, parts, change = CASES[fixture["case"]]
        objects = [item for part in parts for item in kustomize.build(kustomize.K8S / part)]
        change(objects)
        single = fixture["case"] == "batch-job-single"
        _name(objects, "mnist" if single else "cifar")
        said = _said(objects)
        namespace = Objects(launched.NAMESPACE)
        pods = operator(kind, namespace, objects).pods()  # type: ignore[arg-type]
        chosen = [pod for pod in pods if pod_spec.hostname_of(pod) == fixture["hostname"] or single]
        self.assertEqual(len(chosen), 1, [pod_spec.hostname_of(pod) for pod in pods])
        told = {name: value for name, value
                in pod_spec.environment(chosen[0], namespace.maps).items() if name not in said}
        want = {**fixture["env"], **UNTOLD.get(fixture["case"], {})}
        self.assertEqual(_parsed(told), _parsed(want))
        for path, content in fixture.get("files", {}).items():
            self.assertEqual(_file(chosen[0], namespace.maps, path), content)

    def test_pods_are_told_what_operators_tell(self) -> None:
        """Case by case."""
        for fixture in self.fixtures:
            if fixture["case"] in CASES:
                with self.subTest(fixture["case"]):
                    self._check(fixture)

    def test_a_release_that_merges_resources_tells_the_same(self) -> None:
        """Trainer 2.3 merges resourcesPerNode into the runtime's, the releases before replace."""
        runtimes = {runtime["metadata"]["name"]: runtime
                    for part in sorted((kustomize.K8S / "trainer/runtimes").iterdir())
                    for runtime in kustomize.build(part)}
        paths = sorted((kustomize.K8S / "trainer/jobs").glob("*.yaml"))
        self.assertTrue(paths)
        for path in paths:
            (job,) = kustomize.build(path)
            runtime = runtimes[job["spec"]["runtimeRef"]["name"]]
            nodes = []
            for merges in (False, True):
                spec = TrainJob(runtime, job, merges).spec["replicatedJobs"]
                nodes.append([replicated["template"]["spec"] for replicated in spec])
            self.assertEqual(nodes[0], nodes[1], path)

    def test_names_of_pods(self) -> None:
        """Two manifests' own, to their last letter."""
        for kind, parts, hosts in [
                ("trainer", CASES["trainer2-plain"][1], ["cifar10-dns-node-0-0",
                                                         "cifar10-dns-node-0-1"]),
                ("mpijob-v1", ("mpijob/v1",), ["cifar10-launcher", "cifar10-worker-0",
                                               "cifar10-worker-1"])]:
            objects = [item for part in parts for item in kustomize.build(kustomize.K8S / part)]
            pods = operator(kind, Objects("x"), objects).pods()  # type: ignore[arg-type]
            self.assertEqual([pod_spec.hostname_of(pod) for pod in pods], hosts)


def _parsed(variables: dict[str, str]) -> dict[str, Any]:
    """TF_CONFIG as what it says: the order of its keys is Go's."""
    return {name: json.loads(value) if name == "TF_CONFIG" else value
            for name, value in variables.items()}


def main() -> None:
    """Runs the tests."""
    path = pathlib.Path(os.environ.get("ANNULUS_SHARED", ""), "k8s/env_fixtures.json")
    reason = kustomize.skip_reason() or (None if path.is_file() else "no ../shared")
    if reason:
        print(f"skipped: {reason}")
        sys.exit(case.SKIPPED)
    Environment.fixtures = json.loads(path.read_text("utf-8"))
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
