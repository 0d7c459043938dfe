"""Plays one job: a cluster, the controller of its kind, and what befalls them on the way: a pod
that is killed, or the job's deletion. Leaves result.json in the folder. Invariant: it is process 1
of namespaces of its own (../run.py starts it), so that its end is the end of everything it made.
Called by launched.py.
usage: play.py FOLDER, which holds play.json"""
from __future__ import annotations

import json
import pathlib
import sys
import time
from typing import Any, Optional

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cluster import Cluster  # noqa: E402  (needs the path above)
from container import Machine  # noqa: E402
from operators import operator  # noqa: E402
from pod_spec import Refused  # noqa: E402

TICK = 0.01  # seconds
SETTLE = 20  # seconds that pods have to end in when the job has


class Fate:
    """When the run has a file that the pattern fits: kills one pod, or deletes the job."""

    def __init__(self, cluster: Cluster, runs: pathlib.Path,
                 what: Optional[dict[str, str]]) -> None:
        self._cluster = cluster
        self._runs = runs
        self._what = what
        self.deletes = what is not None and what["do"] == "delete"

    def step(self) -> None:
        """Looks, and does it."""
        if self._what is None or not any(self._runs.glob(self._what["when"])):
            return
        if self.deletes:
            self._what = None
            for pod in self._cluster.pods:
                self._cluster.delete(pod)
            return
        for pod in self._cluster.pods:
            if pod.container.pod.name == self._what["host"] and pod.container.running():
                self._cluster.say(f"{pod.name} killed by the test")
                pod.container.kill()
                self._what = None
                return

    def is_done(self) -> bool:
        """It has happened, or nothing was to."""
        return self._what is None


def play(given: dict[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """Until the job has ended, or the time is up."""
    cluster = Cluster(Machine(given["program"], "cluster.local", given["namespace"],
                              given["claims"], given["empty_claims"]), folder)
    job = operator(given["kind"], cluster, given["objects"])
    fate = Fate(cluster, pathlib.Path(given["claims"]["annulus-runs"]), given["fate"])
    state = "Running"
    while state == "Running" and cluster.now() < given["time_limit"]:
        fate.step()
        cluster.step()
        if not (fate.deletes and fate.is_done()):
            state = job.step()
        elif not cluster.pods:
            state = "Deleted"
        time.sleep(TICK)
    cluster.say(f"the job: {state}")
    ended = cluster.now()
    while state != "Running" and cluster.now() < ended + SETTLE and \
            any(pod.container.running() for pod in cluster.pods):
        cluster.step()
        time.sleep(TICK)
    pods = [*cluster.gone, *cluster.pods]
    ends = sorted((end for pod in pods for end in pod.ends), key=lambda end: end["ended"])
    left = [{"pod": pod.name, "folder": str(pod.container.folder)}
            for pod in cluster.pods if pod.container.running()]
    return {"state": state, "ends": ends, "left": left,
            "befell": fate.is_done(), "events": cluster.events}


def main() -> None:
    """Plays FOLDER/play.json."""
    folder = pathlib.Path(sys.argv[1])
    given = json.loads((folder / "play.json").read_text("utf-8"))
    try:
        result = play(given, folder)
    except Refused as refusal:
        result = {"state": f"Refused: {refusal}", "ends": [], "left": [],
                  "befell": False, "events": []}
    (folder / "result.json").write_text(json.dumps(result), "utf-8")


if __name__ == "__main__":
    main()
