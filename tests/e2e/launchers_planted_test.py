#!/usr/bin/env python3
"""The checks of launchers_test.py can fail: bugs are planted in manifests of k8s/, each as a person
would write it, and the check that it is for finds it. Run by ctest.
usage: launchers_planted_test.py ANNULUS [PART OF A TEST'S NAME…] [--show]"""
from __future__ import annotations

import dataclasses
import pathlib
import sys
import unittest
from typing import Any, Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "launchers"))

import case  # noqa: E402  (needs the path above)
import launched  # noqa: E402
from table import LAUNCHERS  # noqa: E402
from users import the  # noqa: E402

Bug = Callable[[list[Any]], None]


def _jobset(objects: list[Any]) -> Any:
    return the(objects, "ClusterTrainingRuntime")["spec"]["template"]["spec"]


def _job(objects: list[Any]) -> Any:
    return _jobset(objects)["replicatedJobs"][0]["template"]["spec"]


def _environment(objects: list[Any]) -> list[Any]:
    (container,) = _job(objects)["template"]["spec"]["containers"]
    return container["env"]  # type: ignore[no-any-return]


def _no_restart_policy(objects: list[Any]) -> None:
    del _job(objects)["template"]["spec"]["restartPolicy"]


def _no_failure_policy(objects: list[Any]) -> None:
    del _jobset(objects)["failurePolicy"]




def _no_resume(objects: list[Any]) -> None:
    entries = _environment(objects)
    entries[:] = [entry for entry in entries if entry["name"] != "ANNULUS_RESUME"]


def _misspelt_out(objects: list[Any]) -> None:
    (entry,) = [entry for entry in _environment(objects) if entry["name"] == "ANNULUS_OUT"]
    entry["name"] = "ANNULUS_OUTPUT"


def _retries_missing_data(objects: list[Any]) -> None:
    rules = _job(objects)["podFailurePolicy"]["rules"]
    (codes,) = [rule["onExitCodes"] for rule in rules if "onExitCodes" in rule]
    codes["values"].remove(3)


def _policy_for_another_container(objects: list[Any]) -> None:
    rules = _job(objects)["podFailurePolicy"]["rules"]
    (codes,) = [rule["onExitCodes"] for rule in rules if "onExitCodes" in rule]
    codes["containerName"] = "trainer"


def _runs_of_root(objects: list[Any]) -> None:
    _job(objects)["template"]["spec"]["securityContext"].pop("fsGroup")


def _tf_never(objects: list[Any]) -> None:
    the(objects, "TFJob")["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "Never"


def _tf_always(objects: list[Any]) -> None:
    the(objects, "TFJob")["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "OnFailure"


def _volcano_without_policies(objects: list[Any]) -> None:
    del the(objects, "Job")["spec"]["policies"]


def _volcano_order(objects: list[Any]) -> None:
    the(objects, "Job")["spec"]["policies"].reverse()


def _another_selector(objects: list[Any]) -> None:
    the(objects, "Service")["spec"]["selector"] = {"batch.kubernetes.io/job-name": "cifar10"}


def _ready_first(objects: list[Any]) -> None:
    """The pods' names wait for readiness, and readiness for the run."""
    del the(objects, "Service")["spec"]["publishNotReadyAddresses"]
    (container,) = the(objects, "Job")["spec"]["template"]["spec"]["containers"]
    container["readinessProbe"] = {"tcpSocket": {"port": 8080}}


def _mpi_never(objects: list[Any]) -> None:
    the(objects, "MPIJob")["spec"]["mpiReplicaSpecs"]["Worker"]["restartPolicy"] = "Never"


def _mpi_keeps_its_pods(objects: list[Any]) -> None:
    the(objects, "MPIJob")["spec"]["runPolicy"]["cleanPodPolicy"] = "None"


def _mpi_without_hook(objects: list[Any]) -> None:
    spec = the(objects, "MPIJob")["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    del spec["containers"][0]["lifecycle"]


def _ready_first_under_jobset(objects: list[Any]) -> None:
    _jobset(objects)["network"]["publishNotReadyAddresses"] = False
    (container,) = _job(objects)["template"]["spec"]["containers"]
    container["readinessProbe"] = {"tcpSocket": {"port": 8080}}


def _volcano_ready_first(objects: list[Any]) -> None:
    spec = the(objects, "Job")["spec"]
    spec["plugins"]["svc"] = []
    (container,) = spec["tasks"][0]["template"]["spec"]["containers"]
    container["readinessProbe"] = {"tcpSocket": {"port": 8080}}


def _two_launchers(objects: list[Any]) -> None:
    the(objects, "ClusterTrainingRuntime")["spec"]["mlPolicy"]["numNodes"] = 2


class Planted(launched.LauncherTest):
    """Each bug, and the check that must fail."""

    def _found(self, launcher: str, bug: Bug, check: str, words: str, *arguments: Any,
               limit: int = launched.LIMIT) -> None:
        planted = dataclasses.replace(LAUNCHERS[launcher], patch=bug, limit=limit)
        with self.assertRaisesRegex(AssertionError, words):
            getattr(self, check)(planted, *arguments)

    def test_no_restart_policy(self) -> None:
        self._found("trainer-torch", _no_restart_policy, "check_resumes", "Refused: .*OnFailure")

    def test_no_failure_policy(self) -> None:
        self._found("trainer-torch", _no_failure_policy, "check_resumes", "'Failed' != 'Complete'")

    def test_no_resume(self) -> None:
        self._found("trainer-torch", _no_resume, "check_resumes", "already holds a run")

    def test_misspelt_variable(self) -> None:
        self._found("trainer-torch", _misspelt_out, "check_bits", "'Failed' != 'Complete'", 2, 1,
                    launched.SHORT)

    def test_a_permanent_code_is_retried(self) -> None:
        for bug in (_retries_missing_data, _policy_for_another_container):
            self._found("trainer-torch", bug, "check_permanent", "[0-9]+ != 1")

    def test_runs_cannot_be_written(self) -> None:
        self._found("trainer-torch", _runs_of_root, "check_bits", "'Failed' != 'Complete'", 2, 1,
                    launched.SHORT)

    def test_replicas_that_never_restart(self) -> None:
        self._found("tfjob", _tf_never, "check_resumes", "'Failed' != 'Complete'")

    def test_replicas_that_always_restart(self) -> None:
        self._found("tfjob", _tf_always, "check_permanent", "'Running' != 'Failed'", limit=10)

    def test_volcano_without_policies(self) -> None:
        self._found("volcano-job", _volcano_without_policies, "check_resumes",
                    "'Failed' != 'Complete'")

    def test_volcano_with_its_policies_in_another_order(self) -> None:
        self._found("volcano-job", _volcano_order, "check_permanent", "[0-9]+ != 1")

    def test_names_that_nobody_publishes(self) -> None:
        for bug in (_another_selector, _ready_first):
            self._found("job-indexed", bug, "check_bits", "'Running' != 'Complete'", 2, 1,
                        launched.SHORT, limit=8)

    def test_workers_of_mpi_that_never_restart(self) -> None:
        self._found("mpijob-v1", _mpi_never, "check_resumes", "'Failed' != 'Complete'")

    def test_workers_of_mpi_that_stay(self) -> None:
        self._found("mpijob-v2beta1", _mpi_keeps_its_pods, "check_bits", "cifar10-worker-0", 2, 1,
                    launched.SHORT)

    def test_two_launchers_of_mpi(self) -> None:
        self._found("trainer-mpi", _two_launchers, "check_bits", "launcher-0-1", 2, 1,
                    launched.SHORT, limit=30)

    def test_workers_of_mpi_that_do_not_save(self) -> None:
        self._found("mpijob-v2beta1", _mpi_without_hook, "check_saves", "'start' != 'stopped'")

    def test_pods_that_never_meet_start_eleven_times(self) -> None:
        soon = [*launched.SHORT, "--discovery-timeout", "1"]
        for launcher, bug, again in [
                ("trainer-torch", _ready_first_under_jobset, r"starts again \(10\)"),
                ("volcano-job", _volcano_ready_first, "(worker-0 created.*){11}")]:
            words = f"(?s)'Failed' != 'Complete'.*{again}"
            self._found(launcher, bug, "check_bits", words, 2, 1, soon)


def main() -> None:
    """Runs the tests."""
    reason = launched.skip_reason()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(case.SKIPPED)
    Planted.program = str(pathlib.Path(sys.argv[1]).resolve())
    Planted.show = "--show" in sys.argv
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word}*" for word in sys.argv[2:] if word != "--show"] or None
    result = unittest.TextTestRunner(verbosity=2).run(loader.loadTestsFromTestCase(Planted))
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)


if __name__ == "__main__":
    main()
