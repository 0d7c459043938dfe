#!/usr/bin/env python3
"""What happens to pods that train: a late one, one that starts again with another address, a link
that is cut, strangers, two of one index. All end in time with a code that says whether to try
again, and nobody trains with a stranger. Run by ctest."""
from __future__ import annotations

from typing import Any

import case
from training import STARTED, TrainingTest, train, train_on

TOLD = ("--nodes", "2", "--peer-timeout", "2", "--discovery-timeout", "6")
MID_RUN = {"at": 0.5, "after": {"pod": 0, "says": STARTED}}
SCANNER = """
import socket, time
first = ('{job}-node-0-0.{job}', 12345)
kept = []
while True:
  for said in (b'', b'GET / HTTP/1.0\\r\\n\\r\\n', b'\\x16\\3\\1', b'\\xff' * 4096, b'anls'):
    try:
      kept.append(socket.create_connection(first, 1))
      kept[-1].sendall(said)
    except OSError as error:
      print(error, flush=True)
  if len(kept) > 500: kept = []
  time.sleep(0.02)
"""


class Faults(TrainingTest):
    """Mid-run."""

    def test_one_that_comes_after_the_settle_time(self) -> None:
        result = self.play(pods=3, pod={"2": {"start": 4, "publish": 4}},
                           command=train_on("--settle", "1", "--discovery-timeout", "10"))
        self.assert_codes(result, {"0": 203, "1": 203, "2": 203})
        for key in "012":
            self.assert_between(result, self.ended(result, key), 4, 25)

    def test_one_starts_again_with_another_address(self) -> None:
        result = self.play(pods=2, command=train_on(*TOLD), events=[
            {"do": "kill", "pod": 1, **MID_RUN}, {"do": "restart", "pod": 1, **MID_RUN, "at": 4}])
        self.assertEqual(result.pods["1"][0].code, 137, self.told(result))
        self.assert_codes(result, {"0": 201, "1": 200})
        killed = result.pods["1"][0].ended or 0
        self.assert_between(result, self.ended(result, "0"), killed, killed + 3)
        again = result.pods["1"][1].started or 0
        self.assert_between(result, self.ended(result, "1"), again + 6, again + 18)

    def test_one_is_back_before_it_was_missed(self) -> None:
        result = self.play(
            pods=3, command=train_on("--nodes", "3", "--peer-timeout", "60"),
            events=[{"do": "link_down", "pod": 1, **MID_RUN},
                    {"do": "restart", "pod": 1, **MID_RUN, "at": 3}])
        self.assertEqual(result.pods["1"][0].code, 137, self.told(result))
        self.assert_codes(result, {"0": 202, "1": 202, "2": 202})
        again = result.pods["1"][1].started or 0
        for key in "012":
            self.assert_says(result, key, "a different incarnation")
            self.assert_between(result, self.ended(result, key), again, again + 10)

    def test_a_link_is_cut(self) -> None:
        result = self.play(pods=2, command=train_on(*TOLD),
                           events=[{"do": "link_down", "pod": 1, **MID_RUN}])
        self.assert_codes(result, {"0": 201, "1": 201})


class Strangers(TrainingTest):
    """Who is not of the job."""

    def test_a_scanner_at_the_port(self) -> None:
        scanner: dict[str, Any] = {"command": ["python3", "-c", SCANNER], "until_end": True}
        result = self.play(pods=2, pod={"1": {"start": 2}}, command=train("--nodes", "2"),
                           others={"scanner": scanner})
        self.assert_trained(result, 2)

    def test_a_pod_of_another_job(self) -> None:
        workers = "{job}-node-0-0.{zone}:12345,other-node-0-1:12345"
        other = {"command": train("--workers", workers, "--index", "1"), "start": 0.5,
                 "environment": {"ANNULUS_JOB_ID": "other"}}
        result = self.play(pods=2, pod={"1": {"start": 2}}, command=train("--nodes", "2"),
                           others={"other": other})
        self.assert_trained(result, 2)
        self.assert_codes(result, {"other": 202})

    def test_two_pods_of_one_index(self) -> None:
        second = {"name": "cifar-node-0-1", "environment": {"JOB_COMPLETION_INDEX": "1"},
                  "command": train("--nodes", "3", "--discovery-timeout", "10"), "start": 1}
        result = self.play(pods=3, pod={"2": {"start": 3}}, command=train("--nodes", "3"),
                           others={"second": second})
        self.assert_trained(result, 3)
        self.assert_codes(result, {"second": 202})


class InAll(TrainingTest):
    """More of that."""

    def test_the_link_of_the_first_is_cut(self) -> None:
        result = self.play(pods=3, command=train_on("--nodes", "3", "--peer-timeout", "2"),
                           events=[{"do": "link_down", "pod": 0, **MID_RUN}])
        self.assert_codes(result, {"0": 201, "1": 201, "2": 201})

    def test_one_is_deleted(self) -> None:
        result = self.play(pods=2, command=train_on(*TOLD),
                           events=[{"do": "terminate", "pod": 1, **MID_RUN}])
        self.assert_codes(result, {"0": 143, "1": 143})


if __name__ == "__main__":
    case.main([Faults, Strangers], [InAll])
