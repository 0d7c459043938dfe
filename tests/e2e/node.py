"""Plays a scenario: makes the network, the DNS server and the pods' sandboxes, then starts,
publishes, kills and cuts off as the scenario says, until the last pod has ended or the time is up.
Invariant: it is process 1 of namespaces of its own (run.py starts it), so that its end is the end
of everything it made. Leaves the outputs, dns.log and result.json in the folder.
usage: node.py FOLDER, which holds scenario.json; --show prints the pods' output as it comes."""
from __future__ import annotations

import json
import pathlib
import sys
import time
from typing import Callable, Union

import network
from names import Dnsmasq, Scripted
from network import Address
from pod import Life
from scenario import Event, Scenario, read_scenario

TICK = 0.01  # seconds


class Output:
    """Prints the lines of all pods as they come, behind the name of the pod."""

    def __init__(self) -> None:
        self._printed: dict[pathlib.Path, int] = {}

    def show(self, life: Life) -> None:
        for path, stream in ((life.out, sys.stdout), (life.err, sys.stderr)):
            if not path.exists():
                continue
            fresh = path.read_bytes()[self._printed.get(path, 0):]
            whole = len(fresh) if life.ended is not None else fresh.rfind(b"\n") + 1
            self._printed[path] = self._printed.get(path, 0) + whole
            for line in fresh[:whole].decode(errors="replace").splitlines():
                print(f"{life.pod.name}: {line}", file=stream, flush=True)


class Node:
    """The state of a scenario that is being played."""

    def __init__(self, scenario: Scenario, folder: pathlib.Path) -> None:
        self._scenario = scenario
        self._folder = folder
        self._next_address = 2
        network.open_bridge()
        self.lives: dict[str, list[Life]] = {key: [] for key in scenario.pods}
        for key in scenario.pods:
            self._new_life(key)
        self._dns = self._open_dns()
        self._to_start = dict(scenario.pods)
        self._to_publish = {key: pod for key, pod in scenario.pods.items()
                            if pod.publish is not None}
        self.events = list(scenario.events)
        self._heard: dict[int, float] = {}  # when the line that event (by id) waits for was said
        self._zero = time.monotonic()

    def _new_life(self, key: str) -> Life:
        pod = self._scenario.pods[key]
        folder = self._folder / key / str(len(self.lives[key]))
        life = Life(pod, self._scenario, Address(self._next_address, self._scenario.family), folder)
        self._next_address += 1
        self.lives[key].append(life)
        return life

    def _open_dns(self) -> Union[Dnsmasq, Scripted]:
        if self._scenario.trouble is None:
            return Dnsmasq(self._scenario, self._folder)
        addresses = {lives[0].pod.name: lives[0].address.all() for lives in self.lives.values()}
        return Scripted(self._scenario, self._folder, addresses)

    def now(self) -> float:
        """Seconds since the network was up."""
        return time.monotonic() - self._zero

    def _publish(self, key: str) -> None:
        life = self.lives[key][-1]
        self._dns.publish(life.pod.name, life.address.all())

    def _restart(self, key: str) -> None:
        """As the Job controller replaces a pod: same host name, another address."""
        self._end(key, Life.remove)
        self._new_life(key).start(self.now())
        self._publish(key)

    def _end(self, key: str, how: Callable[[Life], None]) -> None:
        life = self.lives[key][-1]
        how(life)
        life.watch(self.now())

    def _do(self, event: Event) -> None:
        life = self.lives[event.pod][-1]
        if event.do == "kill":
            self._end(event.pod, Life.kill)
        elif event.do == "terminate":
            life.terminate()
        elif event.do == "restart":
            self._restart(event.pod)
        elif event.do == "publish":
            self._publish(event.pod)
        elif event.do == "withdraw":
            self._dns.publish(life.pod.name, [])
        else:
            network.set_link(life.address, event.do.removeprefix("link_"))

    def _is_due(self, event: Event) -> bool:
        if event.after is None:
            return self.now() >= event.at
        if id(event) not in self._heard:
            life = self.lives[event.after.pod][-1]
            said = b"".join(path.read_bytes() for path in (life.out, life.err) if path.exists())
            if event.after.says.encode() not in said:
                return False
            self._heard[id(event)] = self.now()
        return self.now() >= self._heard[id(event)] + event.at

    def _finished(self) -> bool:
        """Nobody runs whom to wait for, and nothing is sure to come."""
        coming = any(event.after is None or id(event) in self._heard for event in self.events)
        return not self._to_start and not coming and not any(
            lives[-1].running() and not lives[-1].pod.until_end for lives in self.lives.values())

    def step(self) -> bool:
        """Does what is due; whether there is more to come."""
        for key in [key for key, pod in self._to_publish.items()
                    if pod.publish is not None and self.now() >= pod.publish]:
            self._publish(key)
            del self._to_publish[key]
        for key in [key for key, pod in self._to_start.items() if self.now() >= pod.start]:
            self.lives[key][-1].start(self.now())
            del self._to_start[key]
        for lives in self.lives.values():  # first: of who has ended, every word is then known
            lives[-1].watch(self.now())
        for event in [event for event in self.events if self._is_due(event)]:
            self.events.remove(event)
            self._do(event)
        return not self._finished() and self.now() < self._scenario.time_limit

    def result(self) -> dict[str, object]:
        """What run.py reads."""
        return {
            "pods": {key: [{"started": life.started, "ended": life.ended, "code": life.code,
                            "addresses": life.address.all(), "folder": str(life.folder)}
                           for life in lives] for key, lives in self.lives.items()},
            "seconds": self.now(),
            "events_missed": [f"{event.do} {event.pod}" for event in self.events],
        }


def main() -> None:
    """Plays FOLDER/scenario.json."""
    folder = pathlib.Path(sys.argv[1])
    output = Output() if "--show" in sys.argv else None
    given = json.loads((folder / "scenario.json").read_text("utf-8"))
    node = Node(read_scenario(given["scenario"], given["program"]), folder)
    more = True
    while more:
        more = node.step()
        if output:
            for life in [life for lives in node.lives.values() for life in lives]:
                output.show(life)
        time.sleep(TICK)
    (folder / "result.json").write_text(json.dumps(node.result()), "utf-8")


if __name__ == "__main__":
    main()
