"""A pod's container on this machine: the pod's life (../pod.py) with what its manifest says of a
container beside its command: volumes, user, capabilities, a root file system that cannot be
written. The image is this machine's own file system under an overlay, with the program as
/usr/local/bin/annulus and, for MPI, remote.py as ssh, sshd and kubectl. Called by cluster.py."""
from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import signal
from dataclasses import dataclass
from typing import Optional

from network import Address
from pod import Life
from scenario import Pod, Scenario

import pod_spec
from pod_spec import ConfigMaps, Manifest, container_of

REMOTE = pathlib.Path(__file__).resolve().parent / "remote.py"
# Who the image's user is; its home lies in the image and is empty.
HOME = "/home/annulus"
# The machine a pod finds itself on, not what anyone tells it: the cores of a test machine are few.
MACHINE = {"ANNULUS_CPU_CHECK": "1", "ANNULUS_CPU_THREADS": "1", "ANNULUS_THREADS": "1"}


@dataclass(frozen=True)
class Machine:
    """What a pod needs of the place where it runs."""

    program: str
    domain: str  # of the cluster
    namespace: str
    claims: dict[str, str]  # the folder behind each PersistentVolumeClaim
    empty_claims: dict[str, str]  # by host name: a claim that holds nothing on that pod's node


class Container(Life):
    """Of one pod, in one start of it."""

    def __init__(self, manifest: Manifest, machine: Machine, maps: ConfigMaps, address: Address,
                 folder: pathlib.Path) -> None:
        self.manifest = manifest
        self._machine = machine
        self._maps = maps
        self._volumes = folder.parent / (folder.name + ".volumes")
        gpus = pod_spec.gpus_of(manifest)
        variables = {**MACHINE, **({"ANNULUS_CPU_DEVICES": str(gpus)} if gpus else {}),
                     **pod_spec.environment(manifest, maps), "HOME": HOME,
                     "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        pod = Pod(pod_spec.hostname_of(manifest), pod_spec.command(manifest, variables), variables)
        job = manifest["spec"].get("subdomain", "")
        super().__init__(pod, Scenario(job=job, namespace=machine.namespace, domain=machine.domain),
                         address, folder)

    def _own_names(self, scenario: Scenario) -> str:
        if not scenario.job:
            return self.pod.name
        return super()._own_names(scenario)

    def renew(self) -> None:
        """Makes ready for another start in the same sandbox, as the kubelet's."""
        first, _, number = self.folder.name.partition(".again")
        folder = self.folder.with_name(f"{first}.again{int(number or 0) + 1}")
        folder.mkdir()
        for name in ("resolv.conf", "hosts"):
            shutil.copy(self.folder / name, folder)
        self.folder, self.out, self.err = folder, folder / "stdout", folder / "stderr"
        self.started = self.ended = self.code = self.process = None

    def first_process(self) -> Optional[int]:
        """Process 1 of the container, by its number on the node."""
        if self.process is None or not self.running():
            return None
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        numbers = children.read_text("ascii").split()
        return int(numbers[0]) if numbers else None

    def kill(self) -> None:
        """SIGKILL to process 1. That of the process that watches it is not enough: what changes its
        user outlives who started it."""
        first = self.first_process()
        if first is not None:
            os.kill(first, signal.SIGKILL)
        super().kill()

    # --- volumes --------------------------------------------------------------------------------

    def _group(self) -> int:
        return int(self.manifest["spec"].get("securityContext", {}).get("fsGroup", 0))

    def _folder_of(self, volume: Manifest) -> tuple[str, bool]:
        """What is mounted of a volume, and whether it is read-only."""
        if "persistentVolumeClaim" in volume:
            claim = volume["persistentVolumeClaim"]
            name = claim["claimName"]
            if name not in self._machine.claims:
                raise pod_spec.Refused(f"{self.pod.name}: no claim {name}")
            folder = self._machine.claims[name]
            if name == self._machine.empty_claims.get(self.pod.name):
                folder = str(self._volumes / "nothing")
                os.makedirs(folder, exist_ok=True)
            if self._group() and not claim.get("readOnly", False):
                os.chown(folder, 0, self._group())
                os.chmod(folder, 0o2775)
            return folder, bool(claim.get("readOnly", False))
        folder = str(self._volumes / volume["name"])
        if os.path.isdir(folder):  # a container that starts again finds what it left
            return folder, "emptyDir" not in volume
        os.makedirs(folder)
        if "emptyDir" in volume:
            os.chown(folder, 0, self._group())
            os.chmod(folder, 0o2777)
            return folder, False
        source = volume.get("configMap") or volume["secret"]
        content = self._maps[source.get("name") or source["secretName"]]
        items = source.get("items") or [{"key": key, "path": key} for key in content]
        for item in items:
            path = pathlib.Path(folder) / item["path"]
            path.write_text(content[item["key"]], "utf-8")
            path.chmod(item.get("mode", source.get("defaultMode", 0o644)))
            os.chown(path, 0, self._group())
        return folder, True

    def _mounts(self) -> list[str]:
        """Shell commands, run in the root of the container's file system."""
        container = container_of(self.manifest)
        volumes = {volume["name"]: volume for volume in self.manifest["spec"].get("volumes", [])}
        lines = []
        for mount in container.get("volumeMounts", []):
            volume = volumes[mount["name"]]
            path = mount["mountPath"].replace("/var/run/", "/run/", 1)  # a link, to the outer /run
            target = shlex.quote(path.lstrip("/"))
            lines.append(f"mkdir -p {target}")
            if volume.get("emptyDir", {}).get("medium") == "Memory":
                lines.append(f"mount -t tmpfs -o mode=1777 tmpfs {target}")
                continue
            folder, read_only = self._folder_of(volume)
            lines.append(f"mount --bind {shlex.quote(folder)} {target}")
            if read_only or mount.get("readOnly", False):
                lines.append(f"mount -o remount,bind,ro {target}")
        return lines

    # --- start ----------------------------------------------------------------------------------

    def _image(self) -> list[str]:
        files = {self._machine.program: "usr/local/bin/annulus", str(REMOTE): "usr/bin/ssh",
                 str(self.folder / "resolv.conf"): os.path.realpath("/etc/resolv.conf").lstrip("/"),
                 str(self.folder / "hosts"): os.path.realpath("/etc/hosts").lstrip("/")}
        pairs = [*files.items(), (str(REMOTE), "usr/sbin/sshd"), (str(REMOTE), "opt/kube/kubectl")]
        mpi = pathlib.Path(self._machine.program).parents[1] / "lib/libannulus_mpi.so"
        pairs += [(str(mpi), f"usr/local/lib/{mpi.name}")] if mpi.exists() else []
        lines = [f"mkdir -p opt/kube run .{HOME}"]
        for source, target in pairs:
            lines += [f"mkdir -p $(dirname {target}); [ -e {target} ] || touch {target}",
                      f"mount --bind {shlex.quote(source)} {target}"]
        return lines

    def _user(self) -> list[str]:
        """setpriv and its options: who the command is, and what it may not."""
        outer = self.manifest["spec"].get("securityContext", {})
        inner = container_of(self.manifest).get("securityContext", {})
        both = {**outer, **inner}
        user = int(both.get("runAsUser", 0))
        if both.get("runAsNonRoot") and user == 0:
            raise pod_spec.Refused(f"{self.pod.name}: container has runAsNonRoot and image will "
                                   "run as root")
        words = ["setpriv", f"--reuid={user}", f"--regid={both.get('runAsGroup', 0)}"]
        words += [f"--groups={self._group()}"] if self._group() else ["--clear-groups"]
        if "ALL" in inner.get("capabilities", {}).get("drop", []):
            words += ["--bounding-set=-all", "--inh-caps=-all"]
        if inner.get("allowPrivilegeEscalation") is False:
            words.append("--no-new-privs")
        return words

    def _container(self) -> list[str]:
        container = container_of(self.manifest)
        box = self.folder / "root"
        box.mkdir()
        enter = f"cd {shlex.quote(str(box))}"
        lines = ["set -e", enter, "mount -t tmpfs tmpfs .", enter,
                 "mkdir upper work root",
                 "mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root",
                 "cd root", "mount --rbind /dev dev", "mount -t proc proc proc",
                 "mount -t sysfs -o ro sysfs sys", *self._image(), *self._mounts()]
        if container.get("securityContext", {}).get("readOnlyRootFilesystem"):
            lines.append("mount -o remount,ro .")
        words = ["chroot", ".", *self._user(), "--", *self.pod.command]
        lines.append("exec " + shlex.join(words))
        script = self.folder / "start.sh"
        script.write_text("\n".join(lines) + "\n", "utf-8")
        return ["sh", str(script)]

    def entering(self, first: int, command: list[str]) -> list[str]:
        """Words that run a command beside the container's process `first`, as its user."""
        return ["nsenter", f"--target={first}", "--mount", "--uts", "--ipc", "--net", "--pid",
                "--root", "--wd", *self._user(), "--", *command]
