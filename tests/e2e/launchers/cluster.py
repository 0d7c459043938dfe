"""A cluster as far as jobs see it: pods that run and end on this machine's network (../network.py),
headless Services that give them names, ConfigMaps, the kubelet's restarts and readiness probes, and
the API server's `exec`. Invariant: a pod is never changed, only made and deleted; its phase follows
from how its container ended. Controllers make pods and react to them. Called by play.py, within
namespaces of the play's own."""
from __future__ import annotations

import http.client
import json
import pathlib
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Optional

import network
from names import Dnsmasq
from network import Address
from scenario import Scenario

import remote
from container import Container, Machine
from objects import Objects
from pod_spec import Manifest, container_of, hostname_of

# The API server's address in a pod's environment; it answers `exec` alone.
API = ("10.96.0.1", 443)
# Controllers and the kubelet wait 10 s before they start a pod again, then twice as long each time;
# here a tenth of that, so that a test takes no minutes.
BACK_OFF = 1.0
PROBE_TIMEOUT = 0.5  # seconds; all else waits for it


def _listens(host: str, _: Manifest, probe: Manifest) -> bool:
    try:
        socket.create_connection((host, int(probe["tcpSocket"]["port"])), PROBE_TIMEOUT).close()
    except OSError:
        return False
    return True


def _http_answers(host: str, container: Manifest, probe: Manifest) -> bool:
    """The port may be one of the container's names for its ports."""
    wanted = probe["httpGet"]
    ports = {port["name"]: int(port["containerPort"]) for port in container.get("ports", [])}
    port = ports[wanted["port"]] if isinstance(wanted["port"], str) else int(wanted["port"])
    connection = http.client.HTTPConnection(host, port, timeout=PROBE_TIMEOUT)
    try:
        connection.request("GET", wanted["path"])
        return 200 <= connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@dataclass
class Pod:
    """One pod, from its creation to its deletion."""

    manifest: Manifest
    container: Container
    ready: bool = False
    probed_well: set[str] = field(default_factory=set)  # probes that have succeeded once
    deleted: Optional[float] = None  # when its deletion was asked for
    hook: Optional[subprocess.Popen[bytes]] = None  # preStop, which SIGTERM waits for
    told: bool = False  # of its deletion, by SIGTERM
    restarts: int = 0
    ends: list[dict[str, Any]] = field(default_factory=list)  # of each start of the container

    @property
    def name(self) -> str:
        """In the API, not its host name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def labels(self) -> dict[str, str]:
        """Of the pod."""
        return dict(self.manifest["metadata"].get("labels", {}))

    @property
    def code(self) -> Optional[int]:
        """With which its container has ended."""
        return self.container.code

    @property
    def phase(self) -> str:
        """Pending, Running, Succeeded or Failed."""
        if self.container.started is None:
            return "Pending"
        if self.container.ended is None or self.restarts_in_place():
            return "Running"
        return "Succeeded" if self.code == 0 else "Failed"

    def restarts_in_place(self) -> bool:
        """Whether the kubelet starts the container again that has ended."""
        policy = self.manifest["spec"].get("restartPolicy", "Always")
        return self.deleted is None and (
            policy == "Always" or (policy == "OnFailure" and self.code != 0))


class Cluster(Objects):
    """All pods and what they find around them."""

    def __init__(self, machine: Machine, folder: pathlib.Path) -> None:
        super().__init__(machine.namespace)
        self.machine = machine
        self.pods: list[Pod] = []  # those that exist
        self.gone: list[Pod] = []
        self.events: list[str] = []
        self._folder = folder
        self._next_address = 2
        self._zero = time.monotonic()
        self._probed = 0.0
        self._token = f"token of {machine.namespace}"
        network.open_bridge()
        subprocess.run(["ip", "addr", "add", f"{API[0]}/32", "dev", network.BRIDGE], check=True)
        names = Scenario(job="", namespace=machine.namespace, domain=machine.domain)
        self._dns = Dnsmasq(names, folder)
        threading.Thread(target=self._serve_api, daemon=True).start()

    def now(self) -> float:
        """Seconds since the cluster was up."""
        return time.monotonic() - self._zero

    def say(self, event: str) -> None:
        """A line of what controllers did, for whoever reads a failed test."""
        self.events.append(f"{self.now():6.2f} {event}")

    # --- what controllers do --------------------------------------------------------------------

    def create(self, manifest: Manifest) -> Pod:
        """The pod's address answers at once; its container starts with the next step."""
        metadata = manifest["metadata"]
        metadata.setdefault("namespace", self.machine.namespace)
        if any(pod.name == metadata["name"] for pod in self.pods):
            raise RuntimeError(f"pod {metadata['name']} exists")
        if manifest["spec"].get("automountServiceAccountToken", True):
            self._mount_token(manifest)
        number, self._next_address = self._next_address, self._next_address + 1
        folder = self._folder / f"{number:03}-{metadata['name']}"
        container = Container(manifest, self.machine, self.maps, Address(number, "ipv4"), folder)
        pod = Pod(manifest, container)
        self.pods.append(pod)
        self.say(f"{metadata['name']} created, {container.address.all()[0]}")
        return pod

    def delete(self, pod: Pod) -> None:
        """preStop, SIGTERM, and SIGKILL when its grace period is over; it is gone when it has
        ended."""
        if pod.deleted is not None:
            return
        pod.deleted = self.now()
        self.say(f"{pod.name} deleted")
        hook = container_of(pod.manifest).get("lifecycle", {}).get("preStop")
        first = pod.container.first_process()
        if hook is not None and first is not None:
            pod.hook = subprocess.Popen(
                pod.container.entering(first, hook["exec"]["command"]),
                env=pod.container.pod.environment, stdin=subprocess.DEVNULL)

    def _mount_token(self, manifest: Manifest) -> None:
        self.maps["kube-api-access"] = {"token": self._token}
        manifest["spec"].setdefault("volumes", []).append(
            {"name": "kube-api-access", "secret": {"secretName": "kube-api-access"}})
        for container in manifest["spec"]["containers"]:
            container.setdefault("volumeMounts", []).append(
                {"name": "kube-api-access", "mountPath": str(remote.TOKEN.parent)})

    # --- what happens by itself -----------------------------------------------------------------

    def step(self) -> None:
        """Starts, watches, probes, restarts, removes; then names follow."""
        for pod in list(self.pods):
            self._step_pod(pod)
        if self.now() - self._probed >= 0.1:
            self._probed = self.now()
            for pod in self.pods:
                running = pod.phase == "Running" and pod.deleted is None
                if running:
                    self._probe(pod, "livenessProbe")
                pod.ready = running and self._probe(pod, "readinessProbe")
        self._publish()

    def _step_pod(self, pod: Pod) -> None:
        container = pod.container
        if container.started is None and pod.deleted is None and self._may_start(pod):
            container.start(self.now())
        running = container.running()
        container.watch(self.now())
        if running and container.ended is not None:
            self._note_end(pod)
        if pod.deleted is not None and not pod.told and \
                (pod.hook is None or pod.hook.poll() is not None):
            pod.told = True
            container.terminate()
        grace = pod.manifest["spec"].get("terminationGracePeriodSeconds", 30)
        if pod.deleted is not None and container.running() and self.now() > pod.deleted + grace:
            container.kill()
        elif pod.deleted is not None and not container.running():
            container.remove()
            self.pods.remove(pod)
            self.gone.append(pod)
        elif container.ended is not None and pod.restarts_in_place() and \
                self.now() > container.ended + BACK_OFF * min(pod.restarts, 1):
            pod.restarts += 1
            container.renew()

    def _may_start(self, pod: Pod) -> bool:
        """A name that an init container of the operator's waits for."""
        waited = pod.manifest.get("waits-for-name")
        return waited is None or waited in self._names()

    def _note_end(self, pod: Pod) -> None:
        container = pod.container
        self.say(f"{pod.name} ended with {container.code}")
        pod.ends.append({"pod": pod.name, "host": container.pod.name, "code": container.code,
                         "started": container.started, "ended": container.ended,
                         "probed_well": sorted(pod.probed_well),
                         "folder": str(container.folder)})

    def _probe(self, pod: Pod, kind: str) -> bool:
        container = container_of(pod.manifest)
        probe = container.get(kind)
        if probe is None:
            return True
        succeeds = _http_answers if "httpGet" in probe else _listens
        if not succeeds(pod.container.address.all()[0], container, probe):
            return False
        pod.probed_well.add(kind)
        return True

    def _names(self) -> dict[str, list[str]]:
        """What a headless Service says: its pods together, and each by its host name."""
        names: dict[str, list[str]] = {}
        for service in self.services:
            name, spec = service["metadata"]["name"], service["spec"]
            if spec.get("clusterIP") != "None":
                continue
            for pod in self.pods:
                chosen = spec["selector"].items() <= pod.labels.items()
                early = spec.get("publishNotReadyAddresses", False)
                if not chosen or pod.phase not in ("Pending", "Running") or \
                        not (pod.ready or early):
                    continue
                addresses = pod.container.address.all()
                names[name] = names.get(name, []) + addresses
                if pod.manifest["spec"].get("subdomain") == name:
                    host = f"{hostname_of(pod.manifest)}.{name}"
                    names[host] = names.get(host, []) + addresses
        return names

    def _publish(self) -> None:
        self._dns.publish_only(self._names())

    # --- kubectl exec ---------------------------------------------------------------------------

    def _serve_api(self) -> None:
        listener = socket.create_server(API, backlog=64)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._exec, args=(connection,), daemon=True).start()

    def _exec(self, connection: socket.socket) -> None:
        incoming = connection.makefile("rb")
        request = json.loads(incoming.readline())
        pods = [pod for pod in self.pods if pod.name == request["pod"]]
        first = pods[0].container.first_process() if pods else None
        if request["token"] != self._token or first is None:
            words = ["sh", "-c", f"echo error: pods {request['pod']} not found, or forbidden >&2;"
                     "exit 1"]
            environment: dict[str, str] = {}
        else:
            words = pods[0].container.entering(first, json.loads(request["command"]))
            environment = pods[0].container.pod.environment
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment}
        process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        remote.serve(connection, incoming, process)
