#!/usr/bin/env python3
"""The pods are what they claim to be: places of their own on a network with a DNS server, to which
things happen when the scenario says, and of which nothing stays. Commands here are shell and
Python; Annulus takes no part. Run by ctest."""
from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import case
import names
import run
from scenario import ScenarioError

ZONE = "cifar.ml.svc.cluster.local"
WAIT_FOR = "until getent hosts {job}-node-0-%d.{job}; do sleep 0.1; done"
LISTEN = ("import socket; s = socket.create_server(('', 12345)); print('listening', flush=True)\n"
          "while True: s.accept()")
KNOCK = """
import socket, time
while True:
  try:
    socket.create_connection(('{job}-node-0-0.{job}', 12345), 1).close()
    print('connected', flush=True)
  except OSError as error:
    print(error, flush=True)
    if isinstance(error, TimeoutError): break
  time.sleep(0.1)
"""


def shell(text: str) -> list[str]:
    """A command."""
    return ["sh", "-c", text]


class Pods(case.PodsTest):
    """What a pod is, what can happen to it."""

    def test_a_pod_is_a_place_of_its_own(self) -> None:
        command = ("echo $(hostname) $$ $JOB_COMPLETION_INDEX; ls /sys/class/net /dev/shm; pwd >&2;"
                   "cat /etc/resolv.conf; touch /dev/shm/mine; getent hosts $(hostname)")
        result = self.play(pods=2, command=shell(command))
        for i in "01":
            life = result.last(i)
            self.assertEqual(life.out.split("\n"), [
                f"cifar-node-0-{i} 1 {i}", "/dev/shm:", "", "/sys/class/net:", "eth0", "lo",
                "nameserver 10.96.0.10",
                "search ml.svc.cluster.local svc.cluster.local cluster.local", "options ndots:5",
                f"{life.addresses[0]:<15} cifar-node-0-{i}.{ZONE} cifar-node-0-{i}", ""],
                self.told(result))
            self.assertEqual(life.err.split("\n")[0], str(life.folder))

    def test_names_come_when_they_are_published(self) -> None:
        result = self.play(pods=3, publish=0.4, publish_every=0.4, command=shell(WAIT_FOR % 2))
        self.assert_codes(result, {"0": 0, "1": 0, "2": 0})
        self.assert_between(result, self.ended(result, "0"), 1.2, 10)
        self.assertIn(f"cifar-node-0-2.{ZONE} is NXDOMAIN", result.dns_log)
        self.assertIn(f"cifar-node-0-2.{ZONE} is {result.last('2').addresses[0]}", result.dns_log)

    def test_pods_start_when_they_shall_and_answer_before(self) -> None:
        knock = KNOCK.replace("if isinstance", "if 'refused' not in str(error)")
        result = self.play(
            pods=2, command=["python3", "-c", "print('up')"],
            pod={"0": {"start": 0.8}, "1": {"command": ["python3", "-c", knock + "\n  break"]}})
        self.assertGreaterEqual(result.last("0").started or 0, 0.8)
        self.assert_says(result, "1", "Connection refused")

    def test_a_pod_that_starts_again_has_another_address(self) -> None:
        moved = ("a=$(getent hosts {job}-node-0-0.{job}); echo known $a;"
                 "until b=$(getent hosts {job}-node-0-0.{job}) && [ \"$a\" != \"$b\" ];"
                 "do sleep 0.1; done")
        result = self.play(
            pods=2, command=shell(moved),
            pod={"0": {"command": shell("[ $(hostname -i) = 10.244.0.2 ] && sleep 100; exit 5")}},
            events=[{"do": "restart", "pod": 0, "after": {"pod": 1, "says": "known"}}])
        self.assertEqual([life.code for life in result.pods["0"]], [137, 5], self.told(result))
        self.assertNotEqual(result.pods["0"][0].addresses, result.pods["0"][1].addresses)
        self.assert_codes(result, {"1": 0})
        self.assert_between(result, self.ended(result, "1"), 0, 10)

    def test_a_link_can_be_cut(self) -> None:
        result = self.play(
            pods=2, command=["python3", "-c", KNOCK],
            pod={"0": {"command": ["python3", "-c", LISTEN]}},
            events=[{"do": "link_down", "pod": 0, "after": {"pod": 1, "says": "connected"}},
                    {"do": "kill", "pod": 0, "after": {"pod": 1, "says": "timed out"}}])
        self.assert_says(result, "1", "connected", "timed out")
        self.assert_codes(result, {"0": 137, "1": 0})

    def test_a_pod_is_asked_to_end(self) -> None:
        result = self.play(
            pods=1, command=shell("trap 'exit 3' TERM; echo up; while :; do sleep 0.1; done"),
            events=[{"do": "terminate", "pod": 0, "after": {"pod": 0, "says": "up"}}])
        self.assert_codes(result, {"0": 3})

    def test_ipv6_only(self) -> None:
        result = self.play(pods=2, family="ipv6",
                           command=shell(WAIT_FOR % 1 + "; ip -4 addr show dev eth0"))
        for i in "01":
            self.assertEqual(result.last(i).out.split(), [
                "fd00:10:244::3", f"cifar-node-0-1.{ZONE}"], self.told(result))

    def test_another_domain_with_a_wildcard_behind_it(self) -> None:
        look_up = ("cat /etc/resolv.conf; getent ahostsv4 nobody.{zone};"
                   "getent ahostsv4 nobody.{zone}. || echo absolutely: nobody")
        result = self.play(pods=1, domain="k8s.corp.example", search=["office.example"],
                           wildcards={"office.example": "203.0.113.9"}, command=shell(look_up))
        self.assert_says(result, "0", "search ml.svc.k8s.corp.example svc.k8s.corp.example "
                         "k8s.corp.example office.example", "203.0.113.9", "absolutely: nobody")

    def test_a_server_in_trouble(self) -> None:
        if names.scripted_server() is None:
            self.skipTest("no ../shared")
        result = self.play(pods=2, trouble={"rcode": "SERVFAIL", "until": 0.8},
                           command=shell(WAIT_FOR % 1))
        self.assert_codes(result, {"0": 0, "1": 0})
        self.assert_between(result, self.ended(result, "0"), 0.7, 10)
        self.assertIn("SERVFAIL", result.dns_log)

    def test_a_stranger_is_waited_for_only_if_told(self) -> None:
        result = self.play(pods=1, command=shell("exit 0"), others={
            "patient": {"command": shell("sleep 0.5; exit 4")},
            "listener": {"command": shell("sleep 100"), "until_end": True}})
        self.assert_codes(result, {"0": 0, "patient": 4})
        self.assertIsNone(result.last("listener").code)

    def test_what_is_sure_to_come_is_waited_for(self) -> None:
        result = self.play(pods=1, command=shell("echo up"), events=[
            {"do": "restart", "pod": 0, "at": 0.5, "after": {"pod": 0, "says": "up"}}])
        self.assertEqual([life.code for life in result.pods["0"]], [0, 0], self.told(result))

    def test_the_time_is_limited(self) -> None:
        result = self.play(pods=1, command=shell("sleep 100"), time_limit=0.5)
        self.assertIsNone(result.last("0").ended)
        self.assert_between(result, result.seconds, 0.5, 10)

    def test_what_is_no_scenario(self) -> None:
        one: dict[str, Any] = {"pods": 1, "command": ["true"]}
        for scenario, words in [
                ({"podz": 1}, "no key 'podz'"), ({"pods": 0}, "no pods"),
                ({"pods": 1}, "no command"), ({"family": "ipv5"}, "family 'ipv5'"),
                ({**one, "pod": {"0": {"begin": 1}}}, "no key 'begin'"),
                ({**one, "events": [{"do": "kill", "pod": 1}]}, "no pod '1'"),
                ({**one, "events": [{"do": "x", "pod": 0}]}, "do 'x'")]:
            with self.assertRaisesRegex(ScenarioError, words):
                run.run(scenario, self.program, self.folder)


class Tool(case.PodsTest):
    """tests/e2e/pods as a developer uses it."""

    def setUp(self) -> None:
        super().setUp()
        self.scenario = self.folder / "scenario.json"
        self.marker = f"{os.getpid()}.25"  # seconds to sleep, which nobody else does

    def start(self, command: str) -> subprocess.Popen[str]:
        """The tool on two pods with that command; it makes its own folder within the test's."""
        self.scenario.write_text(json.dumps({"pods": 2, "command": shell(command)}), "utf-8")
        return subprocess.Popen(
            [sys.executable, str(run.HERE / "pods"), str(self.scenario)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(self.folder)})

    def processes(self) -> list[str]:
        """Those of the pods, seen from here."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if self.marker.encode() in words or str(self.folder).encode() in b" ".join(words):
                found.append(str(path))
        return found

    def assert_nothing_stays(self) -> None:
        """No process within a second."""
        deadline = time.monotonic() + 10
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.processes(), [])

    def test_prints_what_pods_say(self) -> None:
        tool = self.start("i=$JOB_COMPLETION_INDEX; echo out $i; echo err >&2; exit $i")
        out, err = tool.communicate(timeout=60)
        self.assertEqual(tool.returncode, 1)
        self.assertEqual(sorted(out.splitlines()), [f"cifar-node-0-{i}: out {i}" for i in (0, 1)])
        self.assertEqual(err.count("cifar-node-0-1: err\n"), 1)
        self.assertIn("pods: 1 (10.244.0.3): code 1,", err)
        self.assertEqual(list(self.folder.iterdir()), [self.scenario])

    def test_nothing_stays_after_ctrl_c(self) -> None:
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)):
            tool = self.start(f"echo up; sleep {self.marker}")
            if tool.stdout is None:
                self.fail("no pipe")
            self.assertIn("up", tool.stdout.readline())
            self.assertNotEqual(self.processes(), [])
            tool.send_signal(number)
            tool.communicate(timeout=60)
            self.assertEqual(tool.returncode, code)
            self.assert_nothing_stays()
            if number != signal.SIGKILL:
                self.assertEqual(list(self.folder.iterdir()), [self.scenario])

    def test_two_at_once(self) -> None:
        links = subprocess.check_output(["ip", "-br", "link"], text=True)
        tools = [self.start("sleep 0.5; " + WAIT_FOR % 1) for _ in range(2)]
        self.assertEqual(links, subprocess.check_output(["ip", "-br", "link"], text=True))
        for tool in tools:
            out, err = tool.communicate(timeout=60)
            self.assertEqual(tool.returncode, 0, out + err)
        self.assertEqual(list(self.folder.iterdir()), [self.scenario])


if __name__ == "__main__":
    case.main([Pods, Tool])
