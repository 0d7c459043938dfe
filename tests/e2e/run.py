"""Runs a scenario from outside: starts node.py in namespaces of its own, waits, and gives what each
pod said and how it ended. Invariant: when run() returns or raises, or this process is killed, every
process, namespace and link of the scenario is gone; only the folder stays, which is the caller's.
Called by the tool `pods` and by the tests."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Optional

from scenario import read_scenario

HERE = pathlib.Path(__file__).resolve().parent
# The node's first process gets SIGKILL when this one ends, and takes all its namespaces with it.
NAMESPACES = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork",
              "--kill-child", "--mount-proc"]
PROGRAMS = {"ip": "iproute2", "dnsmasq": "dnsmasq-base", "unshare": "util-linux"}
ROOM = 30  # seconds that a node may take beyond its scenario's time limit


@dataclass
class Outcome:
    """Of one life of a pod. Times are seconds since the network was up."""

    started: Optional[float]
    ended: Optional[float]  # None: it had to be stopped
    code: Optional[int]  # 128 and the signal, where one ended it; None: it had to be stopped
    addresses: list[str]
    folder: pathlib.Path  # where it ran
    out: str
    err: str


@dataclass
class Result:
    """Of a scenario."""

    pods: dict[str, list[Outcome]]  # by key; the lives of each
    seconds: float
    events_missed: list[str]  # those that waited for a line nobody said
    dns_log: str

    def last(self, key: str) -> Outcome:
        """The last life of a pod."""
        return self.pods[key][-1]


def skip_reason() -> Optional[str]:
    """Why pods cannot be started here."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root, to make network namespaces"
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"needs {program} (Debian package {package})"
    link = ["ip", "link", "add", "trial", "type", "bridge"]
    trial = subprocess.run([*NAMESPACES, *link], capture_output=True, text=True, check=False)
    if trial.returncode != 0:
        return f"needs root that may make network namespaces and bridges ({trial.stderr.strip()})"
    return None


def _text(path: pathlib.Path) -> str:
    return path.read_text("utf-8", "replace") if path.exists() else ""


def _outcome(life: dict[str, Any]) -> Outcome:
    folder = pathlib.Path(life.pop("folder"))
    return Outcome(**life, folder=folder, out=_text(folder / "stdout"),
                   err=_text(folder / "stderr"))


def in_namespaces(script: pathlib.Path, words: list[str], limit: float) -> None:
    """Runs a Python script as process 1 of namespaces of its own, for `limit` seconds at most.
    Raises RuntimeError where it fails."""
    command = [*NAMESPACES, sys.executable, str(script), *words]
    with subprocess.Popen(command, start_new_session=True) as node:
        try:
            code = node.wait(limit)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        finally:
            node.kill()
    if code != 0:
        raise RuntimeError(f"the node of the pods ended with {code}")


def run(scenario: dict[str, Any], program: str, folder: pathlib.Path, show: bool = False) -> Result:
    """Plays the scenario in the folder, which must be empty. Raises ScenarioError for one that is
    none and RuntimeError where the node itself fails."""
    limit = read_scenario(scenario, program).time_limit + ROOM
    (folder / "scenario.json").write_text(
        json.dumps({"scenario": scenario, "program": program}), "utf-8")
    in_namespaces(HERE / "node.py", [str(folder)] + ["--show"] * show, limit)
    result = json.loads(_text(folder / "result.json"))
    pods = {key: [_outcome(life) for life in lives] for key, lives in result["pods"].items()}
    return Result(pods, result["seconds"], result["events_missed"], _text(folder / "dns.log"))
