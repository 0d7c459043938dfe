"""A scenario: which pods there are, when each starts and when its name is published, and what
happens to them on the way. Read from JSON (docs/pods.md shows every key). Invariant: a Scenario
that exists is whole; an unknown key or action, or an event on a pod that does not exist, is a
ScenarioError. Called by run.py and node.py."""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Optional

FAMILIES = ("ipv4", "ipv6", "both")
ACTIONS = ("kill", "terminate", "restart", "link_down", "link_up", "publish", "withdraw")


class ScenarioError(Exception):
    """The scenario's text is not one."""


@dataclass
class Pod:
    """One pod of the job, or another one beside it."""

    name: str  # the host name
    command: list[str]
    environment: dict[str, str]
    start: float = 0  # seconds after the network is up; its address answers from the beginning
    publish: Optional[float] = 0  # when DNS knows it; None: never
    until_end: bool = False  # the scenario does not wait for it


@dataclass
class After:
    """A line of output that an event waits for."""

    pod: str
    says: str


@dataclass
class Event:
    """Something that happens to a pod, at a time or so long after a line of output."""

    do: str
    pod: str
    at: float = 0
    after: Optional[After] = None


@dataclass
class Trouble:
    """What the scripted DNS server answers to every question, from the beginning."""

    rcode: str  # SERVFAIL, REFUSED, NXDOMAIN, NODATA or DROP
    until: float


@dataclass
class Scenario:
    """All of it. Times are in seconds from the moment the network is up."""

    job: str = "cifar"
    namespace: str = "ml"
    domain: str = "cluster.local"
    search: list[str] = field(default_factory=list)  # behind the cluster's own search domains
    wildcards: dict[str, str] = field(default_factory=dict)  # domain: address of all names in it
    trouble: Optional[Trouble] = None
    family: str = "ipv4"
    pods: dict[str, Pod] = field(default_factory=dict)  # by key: "0", "1", …, the others' names
    events: list[Event] = field(default_factory=list)
    time_limit: float = 120

    @property
    def zone(self) -> str:
        """Below which the job's pods have their names; without a job, the namespace's."""
        return f"{self.job}.{self.namespace}.svc.{self.domain}".lstrip(".")


def _known(text: dict[str, Any], where: str, keys: set[str]) -> None:
    for key in text:
        if key not in keys:
            raise ScenarioError(f"{where}: no key '{key}'; there are: {', '.join(sorted(keys))}")


def _build(kind: type, text: dict[str, Any], where: str) -> Any:
    _known(text, where, {item.name for item in dataclasses.fields(kind)})
    try:
        return kind(**text)
    except TypeError as error:
        raise ScenarioError(f"{where}: {error}") from error


def _filled(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace("{" + word + "}", value)
    return text


_POD_KEYS = {"command", "environment", "devices", "start", "publish"}


def _pod(name: str, text: dict[str, Any], words: dict[str, str]) -> Pod:
    words = {**words, "name": name}
    environment = {key: _filled(str(value), words) for key, value in text["environment"].items()}
    if "i" in words:
        environment.setdefault("JOB_COMPLETION_INDEX", words["i"])  # as an Indexed Job sets it
    environment.setdefault("ANNULUS_CPU_DEVICES", str(text["devices"]))
    command = [_filled(word, words) for word in text["command"]]
    return Pod(name, command, environment, text["start"], text["publish"],
               text.get("until_end", False))


def _pods(text: dict[str, Any], words: dict[str, str]) -> dict[str, Pod]:
    common = {"command": [], "environment": {}, "devices": 1, "start": 0, "publish": 0}
    common.update({key: text[key] for key in _POD_KEYS if key in text})
    exceptions = text.get("pod", {})
    pods = {}
    for i in range(text.get("pods", 0)):
        own = dict(exceptions.get(str(i), {}))
        _known(own, f"pod {i}", _POD_KEYS | {"name"})
        numbered = {**words, "i": str(i)}
        name = _filled(own.pop("name", text.get("names", "{job}-node-0-{i}")), numbered)
        settings = {**common, **own}
        if "publish" not in own and settings["publish"] is not None:
            settings["publish"] += i * text.get("publish_every", 0)
        settings["environment"] = {**common["environment"], **own.get("environment", {})}
        pods[str(i)] = _pod(name, settings, numbered)
    for key, other in text.get("others", {}).items():
        _known(other, f"other pod '{key}'", _POD_KEYS | {"name", "until_end"})
        settings = {**common, "publish": None, **other}
        settings["environment"] = {**common["environment"], **other.get("environment", {})}
        pods[key] = _pod(_filled(other.get("name", key), words), settings, words)
    return pods


def _event(text: dict[str, Any], number: int, pods: dict[str, Pod]) -> Event:
    where = f"event {number}"
    event = _build(Event, {**text, "pod": str(text.get("pod"))}, where)
    if event.after is not None:
        after = {**event.after, "pod": str(event.after.get("pod"))}
        event.after = _build(After, after, where + ", after")
    for pod in [event.pod] + ([event.after.pod] if event.after else []):
        if pod not in pods:
            raise ScenarioError(f"{where}: no pod '{pod}'; there are: {', '.join(pods)}")
    if event.do not in ACTIONS:
        raise ScenarioError(f"{where}: do '{event.do}'; there are: {', '.join(ACTIONS)}")
    return event


def read_scenario(text: dict[str, Any], program: str) -> Scenario:
    """`program` is what {annulus} stands for in a command."""
    own = {item.name for item in dataclasses.fields(Scenario)} - {"pods", "events", "trouble"}
    _known(text, "scenario", own | _POD_KEYS | {
        "about", "pods", "pod", "others", "names", "publish_every", "events", "trouble"})
    scenario = Scenario(**{key: text[key] for key in own if key in text})
    if scenario.family not in FAMILIES:
        raise ScenarioError(f"family '{scenario.family}'; there are: {', '.join(FAMILIES)}")
    words = {"annulus": program, "job": scenario.job, "namespace": scenario.namespace,
             "domain": scenario.domain, "zone": scenario.zone, "pods": str(text.get("pods", 0))}
    scenario.pods = _pods(text, words)
    if not scenario.pods:
        raise ScenarioError("no pods")
    for key, pod in scenario.pods.items():
        if not pod.command:
            raise ScenarioError(f"pod {key}: no command")
    scenario.events = [_event(event, number, scenario.pods)
                       for number, event in enumerate(text.get("events", []))]
    if "trouble" in text:
        scenario.trouble = _build(Trouble, text["trouble"], "trouble")
    return scenario
