"""A launcher of k8s/ and what is shown of it: its manifest, as kustomize builds it and a researcher
shrinks it (users.py), is played by its controller, and the run ends in the bits that as many
virtual ranks in one process end in. Called by launchers_test.py."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass
from typing import Any, Callable, Optional

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "k8s")]

import kustomize  # noqa: E402  (needs the path above)
import run  # noqa: E402

import datasets  # noqa: E402
import users  # noqa: E402

NAMESPACE = "team-a"
# What a researcher shortens. Rank 0 saves every few steps, so that a killed job has something to go
# on from.
SHORT = ["--max-steps", "40", "--checkpoint-every", "20"]
LONG = ["--max-steps", "400", "--checkpoint-every", "40"]
ENDLESS = ["--checkpoint-every", "50"]
THREE_STEPS = ["--max-steps", "3"]
COMMON = ["--batch-size", "1", "--epochs", "1000"]
LIMIT = 150  # seconds that one job may take


@dataclass(frozen=True)
class Launcher:
    """One row of the table in k8s/README.md."""

    kind: str  # of controller, in operators.py
    parts: tuple[str, ...]  # of k8s/, all that is applied
    change: Callable[..., None]  # of users.py
    run: str  # the folder of its run in /runs
    hosts: tuple[str, ...]  # of two nodes: that of rank 0 first, then the one that is killed
    model: str = "seed-cnn"
    data: str = "annulus-data"  # the claim
    nodes: int = 2
    more_nodes: Optional[int] = 4
    ranks_a_pod: int = 8  # that its manifest allows
    probes: tuple[str, ...] = ()  # that its manifest says, and that each pod must pass
    patch: Optional[Callable[[users.Objects], None]] = None  # a bug that a test plants
    limit: int = LIMIT

    def objects(self, nodes: int, gpus: int, args: list[str]) -> users.Objects:
        """All that is applied, with a researcher's changes."""
        built = [item for part in self.parts for item in kustomize.build(kustomize.K8S / part)]
        mine = users.changed(built, self.change, nodes, gpus, args)
        if self.patch:
            self.patch(mine)
        return mine


class Played:
    """What play.py left."""

    def __init__(self, text: dict[str, Any]) -> None:
        self.state: str = text["state"]
        self.befell: bool = text["befell"]
        self.ends: list[dict[str, Any]] = text["ends"]  # of starts of containers, as they ended
        self.left: list[dict[str, Any]] = text["left"]  # that run on after the job
        self._events: list[str] = text["events"]

    def codes(self, host: str) -> list[int]:
        """Of the starts on a host name, in turn."""
        return [end["code"] for end in self.ends if end["host"] == host]

    def told(self) -> str:
        """All that happened and was said."""
        parts = ["", *self._events, self.state]
        for end in [*self.ends, *self.left]:
            said = "".join(path.read_text("utf-8", "replace")
                           for path in (pathlib.Path(end["folder"], name)
                                        for name in ("stdout", "stderr")) if path.exists())
            parts.append(f"--- {end['pod']}: {end.get('code', 'runs on')}\n{said[-3000:]}")
        return "\n".join(parts)


class LauncherTest(unittest.TestCase):
    """A test that plays launchers, and its checks."""

    program = ""  # annulus; set by main()
    show = False  # prints what happened, also where a check holds
    _box: tempfile.TemporaryDirectory[str]
    _folder: pathlib.Path
    _references: dict[tuple[str, ...], bytes] = {}

    @classmethod
    def setUpClass(cls) -> None:
        cls._box = tempfile.TemporaryDirectory(prefix="annulus-launchers-")
        cls.addClassCleanup(cls._box.cleanup)
        cls._folder = pathlib.Path(cls._box.name)
        cls._folder.chmod(0o755)
        for claim, write in (("annulus-data", datasets.write_cifar10),
                             ("mnist-data", datasets.write_mnist)):
            (cls._folder / claim).mkdir()
            write(cls._folder / claim)
        cls._references = {}

    def play(self, launcher: Launcher, nodes: int, gpus: int, args: list[str],
             fate: Optional[dict[str, str]] = None,
             empty: Optional[str] = None) -> tuple[Played, pathlib.Path]:
        """Runs the job; the result, and the folder behind /runs."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self._folder))
        folder.chmod(0o755)
        runs = folder / "runs"
        runs.mkdir()
        claims = {"annulus-data": str(self._folder / "annulus-data"),
                  "mnist-data": str(self._folder / "mnist-data"), "annulus-runs": str(runs)}
        (folder / "play.json").write_text(json.dumps({
            "kind": launcher.kind, "program": self.program, "namespace": NAMESPACE,
            "objects": launcher.objects(nodes, gpus, self._arguments(launcher, args)),
            "claims": claims, "empty_claims": {empty: launcher.data} if empty else {},
            "fate": fate, "time_limit": launcher.limit}), "utf-8")
        run.in_namespaces(HERE / "play.py", [str(folder)], launcher.limit + run.ROOM)
        result = json.loads((folder / "result.json").read_text("utf-8"))
        if self.show:
            print(*result["events"], sep="\n", file=sys.stderr)
        return Played(result), runs

    @staticmethod
    def _arguments(launcher: Launcher, args: list[str]) -> list[str]:
        return ["--model", launcher.model, *COMMON, *args]

    def bits_of_virtual_ranks(self, launcher: Launcher, ranks: int, args: list[str]) -> bytes:
        """What a run of these arguments must end in."""
        order = "ring" if launcher.nodes > 1 else "rank"  # within a pod, sums go through memory
        key = (launcher.model, str(ranks), *args)
        if key not in self._references:
            out = pathlib.Path(tempfile.mkdtemp(dir=self._folder))
            command = [self.program, "train", *self._arguments(launcher, args),
                       "--virtual-ranks", str(ranks), "--sum-order", order, "--device", "cpu",
                       "--data", str(self._folder / launcher.data), "--out", str(out / "run")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self._references[key] = (out / "run/model.safetensors").read_bytes()
        return self._references[key]

    def assert_over(self, played: Played, state: str) -> None:
        """The job has ended so, and no pod holds a GPU any more."""
        self.assertEqual(played.state, state, played.told())
        self.assertEqual([pod["pod"] for pod in played.left], [], played.told())

    def assert_trained(self, launcher: Launcher, played: Played, runs: pathlib.Path, ranks: int,
                       args: list[str]) -> None:
        """The job is complete, and its one run is that of so many ranks."""
        self.assert_over(played, "Complete")
        self.assertEqual([path.name for path in runs.iterdir()], [launcher.run], played.told())
        weights = (runs / launcher.run / "model.safetensors").read_bytes()
        same = weights == self.bits_of_virtual_ranks(launcher, ranks, args)
        self.assertTrue(same, f"other bits than {ranks} virtual ranks{played.told()}")

    # --- the checks -----------------------------------------------------------------------------

    def check_bits(self, launcher: Launcher, nodes: int, gpus: int, args: list[str]) -> None:
        """A run from its begin to its end, in one start."""
        played, runs = self.play(launcher, nodes, gpus, args)
        self.assert_trained(launcher, played, runs, nodes * gpus, args)
        for host in launcher.hosts[:nodes]:
            self.assertLessEqual(len(played.codes(host)), 1, played.told())
        for end in played.ends:
            self.assertEqual(set(launcher.probes) - set(end["probed_well"]), set(), played.told())

    @staticmethod
    def _checkpoints(launcher: Launcher) -> str:
        return f"{launcher.run}/checkpoints/step-*.safetensors"

    @staticmethod
    def _starts(launcher: Launcher, runs: pathlib.Path) -> list[dict[str, Any]]:
        lines = (runs / launcher.run / "starts.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def check_saves(self, launcher: Launcher) -> None:
        """The job is deleted: SIGTERM to all pods at once. The step it was at is saved."""
        played, runs = self.play(launcher, launcher.nodes, 1, ENDLESS, fate={
            "do": "delete", "when": self._checkpoints(launcher)})
        self.assertEqual(played.state, "Deleted", played.told())
        last = self._starts(launcher, runs)[-1]
        self.assertEqual(last["event"], "stopped", f"{last}{played.told()}")
        saved = runs / launcher.run / "checkpoints" / f"step-{last['updates']:09}.safetensors"
        self.assertTrue(saved.exists(), f"{saved}{played.told()}")

    def check_resumes(self, launcher: Launcher, node: int = -1) -> None:
        """A node, the last, is killed: the job goes on from a checkpoint, to the same bits."""
        victim = launcher.hosts[node]
        played, runs = self.play(launcher, launcher.nodes, 1, LONG, fate={
            "do": "kill", "host": victim, "when": self._checkpoints(launcher)})
        self.assertTrue(played.befell, played.told())
        self.assertEqual(played.codes(victim)[:1], [137], played.told())
        self.assert_trained(launcher, played, runs, launcher.nodes, LONG)
        starts = self._starts(launcher, runs)
        resumed = [line for line in starts if line["event"] == "start" and line["updates"] > 0]
        self.assertTrue(resumed, f"{starts}{played.told()}")

    def check_permanent(self, launcher: Launcher) -> None:
        """The last node's data is missing: code 3, and nobody starts again."""
        victim = launcher.hosts[launcher.nodes - 1]
        played, runs = self.play(launcher, launcher.nodes, 1, SHORT, empty=victim)
        self.assert_over(played, "Failed")
        self.assertEqual(list(runs.glob("*/model.safetensors")), [], played.told())
        self.assertIn(3, [end["code"] for end in played.ends], played.told())
        for host in {end["host"] for end in played.ends}:
            self.assertEqual(len(played.codes(host)), 1, played.told())


class WholeLauncherTest(LauncherTest):
    """What is shown of every launcher."""

    launcher: Launcher

    def test_ends_in_the_bits_of_virtual_ranks(self) -> None:
        """The manifest's own number of nodes."""
        self.check_bits(self.launcher, self.launcher.nodes, 1, SHORT)

    def test_a_killed_worker_is_made_anew_and_the_job_resumes(self) -> None:
        """By the launcher's own rules."""
        self.check_resumes(self.launcher)

    def test_the_killed_node_of_rank_0_is_made_anew_and_the_job_resumes(self) -> None:
        """Likewise: another pod goes on writing the run."""
        if self.launcher.nodes == 1:
            self.skipTest("one pod by its nature")
        self.check_resumes(self.launcher, 0)

    def test_a_permanent_error_ends_the_job(self) -> None:
        """Without a retry."""
        self.check_permanent(self.launcher)

    def test_a_deleted_job_saves(self) -> None:
        """Within the grace period that its manifest gives it."""
        self.check_saves(self.launcher)

    def test_another_number_of_nodes_is_one_change(self) -> None:
        """That which the table in k8s/README.md names."""
        if self.launcher.more_nodes is None:
            self.skipTest("one pod by its nature")
        self.check_bits(self.launcher, self.launcher.more_nodes, 1, SHORT)

    def test_eight_devices_a_pod(self) -> None:
        """Sixteen ranks where there are two pods."""
        if self.launcher.ranks_a_pod < 8:
            self.skipTest("its manifest is for one GPU a pod")
        self.check_bits(self.launcher, self.launcher.nodes, 8, THREE_STEPS)


def skip_reason() -> Optional[str]:
    """Why launchers cannot be played here."""
    reason = run.skip_reason() or kustomize.skip_reason()
    if reason:
        return reason
    box = "mount -t tmpfs tmpfs /mnt && cd /mnt && mkdir upper work root && " \
          "mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root"
    trial = subprocess.run([*run.NAMESPACES, "sh", "-c", box], capture_output=True, text=True,
                           check=False)
    if trial.returncode != 0:
        return f"needs root that may mount an overlay ({trial.stderr.strip()})"
    return None
