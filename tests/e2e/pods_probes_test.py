#!/usr/bin/env python3
"""What the kubelet's probes see of a pod: alive from the beginning, ready as soon as it listens or looks for worker 0,
and never only because others came or a training began. Run by ctest."""
from __future__ import annotations

import pathlib
import re

import case
from run import Result
from training import TrainingTest, train

PORT = "9400"
STEPS = 100  # so that the training outlasts some turns of the probes, however slow the machine is
PROBE = str(pathlib.Path(__file__).resolve().parent / "probe.py")


def probed(*options: str) -> list[str]:
    """A training whose endpoint is asked all the time."""
    return ["/usr/bin/python3", PROBE, PORT, *train(*options, "--metrics-port", PORT, steps=STEPS)]


class Probes(TrainingTest):
    """A pod's way to its training."""

    def answers(self, result: Result, key: str) -> list[tuple[int, int, str]]:
        """(healthz, readyz, peers alive), a change after the other."""
        found = re.findall(r"^probe: healthz=(\d+) readyz=(\d+) peers=(\S+)$", result.last(key).out, re.M)
        return [(int(healthy), int(ready), peers) for healthy, ready, peers in found]

    def check_discovery(self, devices: int) -> None:
        """Names that come late: not ready until then, alive all the time but while the port is handed on."""
        result = self.play(pods=2, devices=devices, publish_every=3, command=probed("--nodes", "2"))
        self.assert_trained(result, 2, devices=devices, steps=STEPS)
        for key in "01":
            answers = self.answers(result, key)
            self.assertIn((200, 503, "0"), answers, self.told(result))
            self.assertIn((200, 200, str(2 * devices - 1)), answers, self.told(result))

    def test_one_device(self) -> None:
        self.check_discovery(1)

    def test_two_devices_share_the_port(self) -> None:
        self.check_discovery(2)

    def test_ready_before_the_others_are_there(self) -> None:
        result = self.play(pods=2, pod={"1": {"start": 4}}, command=probed("--nodes", "2"))
        self.assert_trained(result, 2, steps=STEPS)
        self.assertIn((200, 200, "0"), self.answers(result, "0"), self.told(result))


if __name__ == "__main__":
    case.main([Probes])
