"""A pod as the API server holds it, read as the kubelet reads it: what its container is started
with. A pod is a dictionary of Kubernetes' own shape (metadata, spec), as every launcher here makes
them. Nothing is started here and root is not needed. Called by container.py, the launchers and
launchers_environment_test.py."""
from __future__ import annotations

import re
from typing import Any, Optional

Manifest = dict[str, Any]  # an object of Kubernetes, or a part of one
ConfigMaps = dict[str, dict[str, str]]  # by name; Secrets are held likewise


class Refused(Exception):
    """What the API server, or an operator's webhook, would not take."""


def container_of(pod: Manifest) -> Manifest:
    """Its one container, which every pod of k8s/ has."""
    containers = pod["spec"]["containers"]
    if len(containers) != 1:
        raise Refused(f"{pod['metadata']['name']}: {len(containers)} containers, one is known here")
    return dict(containers[0])


def hostname_of(pod: Manifest) -> str:
    """What hostname(1) says in it."""
    return str(pod["spec"].get("hostname", pod["metadata"]["name"]))


def gpus_of(pod: Manifest) -> int:
    """How many the device plugin gives it."""
    limits = container_of(pod).get("resources", {}).get("limits", {})
    return int(limits.get("nvidia.com/gpu", 0))


def expanded(text: str, variables: dict[str, str]) -> str:
    """$(NAME) of a variable that is known, as in command, args and env; $$ stands for $."""
    def value(match: re.Match[str]) -> str:
        if match.group(0) == "$$":
            return "$"
        return variables.get(match.group(1), match.group(0))
    return re.sub(r"\$\$|\$\(([^()]+)\)", value, text)


def _field(pod: Manifest, path: str) -> str:
    """The downward API; a label that is not there is empty."""
    keyed = re.fullmatch(r"metadata\.(labels|annotations)\['([^']+)'\]", path)
    if keyed:
        return str(pod["metadata"].get(keyed.group(1), {}).get(keyed.group(2), ""))
    plain = re.fullmatch(r"metadata\.(name|namespace|uid)", path)
    if not plain:
        raise Refused(f"fieldPath {path} is not known here")
    return str(pod["metadata"].get(plain.group(1), ""))


def _value(entry: Manifest, pod: Manifest, maps: ConfigMaps, known: dict[str, str]) -> str:
    if "valueFrom" not in entry:
        return expanded(str(entry.get("value", "")), known)
    source = entry["valueFrom"]
    if "fieldRef" in source:
        return _field(pod, source["fieldRef"]["fieldPath"])
    reference = source["configMapKeyRef"]
    return maps[reference["name"]][reference["key"]]


def environment(pod: Manifest, maps: ConfigMaps) -> dict[str, str]:
    """Of the container, but for what every container of a cluster has."""
    container = container_of(pod)
    variables: dict[str, str] = {}
    for source in container.get("envFrom", []):
        variables.update(maps[source["configMapRef"]["name"]])
    for entry in container.get("env", []):
        variables[entry["name"]] = _value(entry, pod, maps, variables)
    return variables


def command(pod: Manifest, variables: dict[str, str]) -> list[str]:
    """The words of its first process. The manifests of k8s/ say a command themselves."""
    container = container_of(pod)
    if not container.get("command"):
        raise Refused(f"{pod['metadata']['name']}: no command")
    words = [*container["command"], *container.get("args", [])]
    return [expanded(str(word), variables) for word in words]


def set_environment(pod: Manifest, entries: list[Manifest],
                    container: Optional[str] = None) -> None:
    """What an operator does: a variable of that name is replaced, another one put behind."""
    for target in pod["spec"]["containers"]:
        if container is not None and target["name"] != container:
            continue
        names = {entry["name"] for entry in entries}
        kept = [entry for entry in target.get("env", []) if entry["name"] not in names]
        target["env"] = kept + [dict(entry) for entry in entries]


def literals(variables: dict[str, str]) -> list[Manifest]:
    """As entries of `env`."""
    return [{"name": name, "value": value} for name, value in variables.items()]


def add_volume(pod: Manifest, volume: Manifest, path: str) -> None:
    """What an operator does to mount a ConfigMap or Secret of its own."""
    pod["spec"].setdefault("volumes", []).append(volume)
    for target in pod["spec"]["containers"]:
        target.setdefault("volumeMounts", []).append({"name": volume["name"], "mountPath": path})
