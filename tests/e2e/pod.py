"""One life of a pod. Its sandbox (host name, network namespace, address) is there from the
beginning, held by a process that does nothing, as Kubernetes' pause container; the container (mount
and PID namespace, resolv.conf, hosts, /dev/shm, a folder of its own) is started later, and its
command is process 1 in it. Invariant: both end when the node does. Called by node.py."""
from __future__ import annotations

import os
import pathlib
import subprocess
from typing import Optional

import network
from network import Address
from scenario import Pod, Scenario

_PAUSE = 'hostname "$1" && echo ready && exec sleep infinity'
_CONTAINER = """
mount --bind "$1" "$2" && mount --bind "$3" "$4" && mount -t tmpfs tmpfs /dev/shm &&
mount -t sysfs -o ro sysfs /sys && cd "$5" && shift 5 && exec "$@"
"""
# What a command needs of the outer world: to be found, and the sanitizers' settings.
_INHERITED = ("PATH", "HOME", "LANG", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS",
              "UBSAN_OPTIONS", "ANNULUS_SHARED")


class Life:
    """Of one pod with one address."""

    def __init__(self, pod: Pod, scenario: Scenario, address: Address,
                 folder: pathlib.Path) -> None:
        self.pod = pod
        self.address = address
        self.folder = folder  # the container's working folder; out, err, … lie in it
        folder.mkdir(parents=True)
        self.out, self.err = folder / "stdout", folder / "stderr"
        self.started: Optional[float] = None
        self.ended: Optional[float] = None
        self.code: Optional[int] = None  # None: did not end by itself
        self.process: Optional[subprocess.Popen[bytes]] = None
        self._write_files(scenario)
        self._pause = subprocess.Popen(
            ["unshare", "--net", "--uts", "--ipc", "sh", "-c", _PAUSE, "pause", pod.name],
            stdout=subprocess.PIPE)
        if self._pause.stdout is None or self._pause.stdout.readline() != b"ready\n":
            raise RuntimeError(f"pod {pod.name}: no sandbox")
        network.connect(address, self._pause.pid)

    def _write_files(self, scenario: Scenario) -> None:
        cluster = f"svc.{scenario.domain}"
        search = [f"{scenario.namespace}.{cluster}", cluster, scenario.domain, *scenario.search]
        (self.folder / "resolv.conf").write_text(
            f"nameserver {network.dns_server(scenario.family)}\n"
            f"search {' '.join(search)}\noptions ndots:5\n", "ascii")
        own = [f"{address}\t{self._own_names(scenario)}\n" for address in self.address.all()]
        (self.folder / "hosts").write_text(
            "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n" + "".join(own), "ascii")

    def _own_names(self, scenario: Scenario) -> str:
        """As the pod's own /etc/hosts has them."""
        return f"{self.pod.name}.{scenario.zone}\t{self.pod.name}"

    def _container(self) -> list[str]:
        """What runs in namespaces of the container's own and becomes the command."""
        files = [str(self.folder / "resolv.conf"), os.path.realpath("/etc/resolv.conf"),
                 str(self.folder / "hosts"), os.path.realpath("/etc/hosts"), str(self.folder)]
        return ["sh", "-c", _CONTAINER, "container", *files, *self.pod.command]

    def start(self, now: float) -> None:
        """Starts the command."""
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment.update(HOSTNAME=self.pod.name, KUBERNETES_SERVICE_HOST="10.96.0.1",
                           KUBERNETES_SERVICE_PORT="443", **self.pod.environment)
        sandbox = f"/proc/{self._pause.pid}/ns/"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                ["nsenter", f"--net={sandbox}net", f"--uts={sandbox}uts", f"--ipc={sandbox}ipc",
                 "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                 *self._container()],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                start_new_session=True)
        self.started = now

    def running(self) -> bool:
        """Started and not ended yet."""
        return self.started is not None and self.ended is None

    def watch(self, now: float) -> None:
        """Takes note of its end."""
        if self.running() and self.process is not None:
            code = self.process.poll()
            if code is not None:
                self.ended = now
                self.code = code if code >= 0 else 128 - code

    def terminate(self) -> None:
        """SIGTERM to process 1, as when the pod is deleted."""
        if self.process is None or not self.running():
            return
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        subprocess.run(["kill", "-TERM", *children.read_text("ascii").split()],
                       stderr=subprocess.DEVNULL, check=False)  # it may just have ended

    def kill(self) -> None:
        """SIGKILL to all its processes; the network tells the peers that connections have ended."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def remove(self) -> None:
        """The sandbox, too: nothing answers at its address any more."""
        self.kill()
        self._pause.kill()
        self._pause.wait()
