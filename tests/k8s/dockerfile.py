"""A Dockerfile as its stages, and the run of a stage without docker: in a chroot on an overlay of a root folder, as
root. Understands the instructions that k8s/image/Dockerfile uses; any other is a DockerfileError. Called by
image_test.py.
"""
import dataclasses
import os
import pathlib
import re
import shlex
import shutil
import subprocess

SHELL = ["/bin/bash", "-euo", "pipefail", "-c"]
KNOWN = {"FROM", "SHELL", "RUN", "COPY", "ADD", "USER", "WORKDIR", "LABEL", "ENV", "ARG", "CMD"}


class DockerfileError(Exception):
    """What cannot be understood or run."""


@dataclasses.dataclass
class Instruction:
    """`flags` of RUN are its mounts, a dictionary each; of COPY the stage it copies from."""
    word: str
    text: str
    flags: list


@dataclasses.dataclass
class Stage:
    """`base` is the name of an earlier stage, or of an image."""
    name: str
    base: str
    instructions: list

    def all(self, word):
        return [instruction for instruction in self.instructions if instruction.word == word]


def parse(text):
    """The stages by name, in their order."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    stages, stage = {}, None
    for line in re.sub(r"\\\n\s*", " ", lines).splitlines():
        if not line.strip():
            continue
        word, _, rest = line.partition(" ")
        if word not in KNOWN:
            raise DockerfileError(f"an instruction that is not understood: {line}")
        flags = re.findall(r"(?<!\S)--(mount|from)=(\S+)", rest) if word in ("RUN", "COPY") else []
        rest = re.sub(r"(?<!\S)--(mount|from)=\S+\s*", "", rest).strip() if flags else rest.strip()
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stage = stages[name] = Stage(name, base, [])
        else:
            parsed = [dict(part.split("=", 1) for part in value.split(",")) if kind == "mount" else value
                      for kind, value in flags]
            stage.instructions.append(Instruction(word, rest, parsed))
    return stages


def quiet(*command):
    subprocess.run([str(word) for word in command], check=True)


class Builder:
    """Runs stages on `root`, which stays as it is; all else is below `box`, a tmpfs that ends with the mount namespace
    which this needs. Nothing is removed below it: the machine's own folders are mounted there."""

    def __init__(self, stages, context, root, box, prepare=lambda merged: None):
        self.stages, self.context, self.root, self.box = stages, context, root, box
        self.prepare = prepare  # what a chroot needs beside what its stage brings
        self.merged = {}

    def _layers(self, name):
        if name not in self.stages:
            return [self.root]
        return [self.box / name / "upper", *self._layers(self.stages[name].base)]

    def build(self, name):
        """The folder of a stage that is built."""
        if name in self.merged or name not in self.stages:
            return self.merged.get(name, self.root)
        self.build(self.stages[name].base)
        folder = self.box / name
        for part in ("upper", "work", "merged"):
            (folder / part).mkdir(parents=True)
        merged = folder / "merged"
        lower = ":".join(str(layer) for layer in self._layers(self.stages[name].base))
        quiet("mount", "-t", "overlay", "overlay", "-o",
              f"lowerdir={lower},upperdir={folder / 'upper'},workdir={folder / 'work'}", merged)
        for part in ("proc", "dev"):
            (merged / part).mkdir(exist_ok=True)
        quiet("mount", "-t", "proc", "proc", merged / "proc")
        # This machine's devices can be used there, and not be removed.
        quiet("mount", "--bind", "/dev", merged / "dev")
        quiet("mount", "-o", "remount,bind,ro", merged / "dev")
        quiet("mount", "-t", "tmpfs", "tmpfs", merged / "dev/shm")
        self.prepare(merged)
        workdir = "/"
        for instruction in self.stages[name].instructions:
            if instruction.word == "WORKDIR":
                workdir = instruction.text
                (merged / workdir[1:]).mkdir(parents=True, exist_ok=True)
            elif instruction.word == "COPY":
                self._copy(merged, workdir, instruction)
            elif instruction.word == "RUN":
                self._run(merged, workdir, instruction)
        self.merged[name] = merged
        return merged

    def _copy(self, merged, workdir, instruction):
        *sources, target = shlex.split(instruction.text)
        base = self.build(instruction.flags[0]) if instruction.flags else self.context
        to = merged / os.path.join(workdir, target)[1:]
        to.mkdir(parents=True, exist_ok=True)
        for source in sources:
            path = base / source.lstrip("/")
            quiet("cp", "-a", f"{path}/." if path.is_dir() else path, to)

    def _run(self, merged, workdir, instruction):
        mounted = []
        for mount in instruction.flags:
            target = merged / mount["target"][1:]
            if mount["type"] == "cache":
                source = pathlib.Path.home() / ".cache/ccache"
                source.mkdir(parents=True, exist_ok=True)
            else:
                base = self.build(mount["from"]) if "from" in mount else self.context
                source = base / mount["source"].lstrip("/")
            if source.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
            quiet("mount", "--bind", source, target)
            mounted.append(target)
        try:
            self.command(merged, instruction.text, workdir)
        finally:
            for target in mounted:
                quiet("umount", target)

    @staticmethod
    def command(merged, text, workdir="/", user=0):
        """Runs words of a shell in a stage that is built. Returns what they print."""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                       "HOME": "/root" if user == 0 else "/home/annulus", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(["chroot", f"--userspec={user}:{user}", str(merged), *SHELL, f"cd {workdir} && {text}"],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DockerfileError(f"{text}\nended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-3000:]}")
        return done.stdout


def copy_context(root, to):
    """What `docker build` sends: the files of the checkout that .dockerignore lets through."""
    wanted = [line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in wanted:
        source, target = root / name, to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
