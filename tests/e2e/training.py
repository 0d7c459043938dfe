"""Pods that train: the command of a TrainJob, which says nothing about peers, and what shows that
pods formed the ring they should: the weights are, bit for bit, those of as many virtual ranks.
Called by the tests."""
from __future__ import annotations

import re
import subprocess
from typing import Any

import case
from run import Result

WEIGHTS = "run/model.safetensors"
STARTED = "buckets:"  # rank 0 says how gradients are cut, then trains
ENVIRONMENT = {"ANNULUS_CPU_CHECK": "1", "ANNULUS_THREADS": "1"}


def train(*options: str, steps: int = 6) -> list[str]:
    """A run of some seconds at most."""
    return ["{annulus}", "train", "--model", "seed-cnn", "--data", "synthetic", "--batch-size", "4",
            "--epochs", "1", "--max-steps", str(steps), "--out", "run", *options]


def train_on(*options: str) -> list[str]:
    """A run that something must end."""
    return ["{annulus}", "train", "--model", "seed-cnn", "--data", "synthetic", "--batch-size", "4",
            "--epochs", "1000", "--out", "run", "--checkpoint-every", "never", *options]


class TrainingTest(case.PodsTest):
    """A test whose pods train."""

    def play(self, **scenario: Any) -> Result:
        environment = {**ENVIRONMENT, **scenario.pop("environment", {})}
        return super().play(environment=environment, **scenario)

    def weights_of_virtual_ranks(self, ranks: int, steps: int) -> bytes:
        """What a run of train() on so many ranks must end in."""
        folder = self.folder / f"virtual-{ranks}-{steps}"
        if not folder.exists():
            folder.mkdir()
            command = train("--virtual-ranks", str(ranks), "--sum-order", "ring", steps=steps)
            command[0] = self.program
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        return (folder / WEIGHTS).read_bytes()

    def assert_trained(self, result: Result, pods: int, devices: int = 1, steps: int = 6) -> None:
        """All pods ended well; the first alone wrote the run, and it is that of all ranks."""
        keys = [str(i) for i in range(pods)]
        self.assert_codes(result, {key: 0 for key in keys})
        for key in keys:
            written = (result.last(key).folder / "run").exists()
            self.assertEqual(written, key == "0", f"pod {key} wrote a run{self.told(result)}")
            self.assertNotIn("annulus cpu device", result.last(key).err, self.told(result))
        weights = (result.last("0").folder / WEIGHTS).read_bytes()
        self.assertEqual(weights == self.weights_of_virtual_ranks(pods * devices, steps), True,
                         f"other bits than virtual ranks{self.told(result)}")

    def assert_asked_absolutely(self, result: Result, zone: str) -> None:
        """No name outside the job's service was looked up."""
        asked = set(re.findall(r"(?:query\[\w+\]|^[\d.]+) (\S+) ", result.dns_log, re.M))
        self.assertNotEqual(asked, set())
        self.assertEqual([name for name in asked if not name.endswith(zone)], [])
