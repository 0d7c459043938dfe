#!/usr/bin/python3
"""Annulus' all-reduce beside its peers', taken in turn: ./dev bench allreduce.

Shared memory: OpenMPI. TCP on the loopback interface: OpenMPI and gloo's ring. All by one method:
calls in a row, the slowest rank's time, the median of several rows. A turn runs each contender once;
the table shows each one's median over the turns, and the median of the turns' own ratios of the best
peer's time to ours.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = ROOT / "build/peers"
ANNULUS = ROOT / "build/cpu/bin/annulus"
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OVER_TCP = {"NCCL_SHM_DISABLE": "1", "NCCL_SOCKET_IFNAME": "lo"}
GROUPS = {  # the first of each is Annulus
    "shared memory": ("annulus", "openmpi"),
    "tcp": ("annulus tcp", "openmpi tcp", "gloo tcp"),
}


def build(name, compiler, libraries):
    """Compiles a peer's program when its source is newer."""
    program, sources = PROGRAMS / name, [HERE / f"{name}.cpp", HERE / "allreduce_rows.h"]
    newest = max(source.stat().st_mtime for source in sources)
    if program.exists() and program.stat().st_mtime >= newest:
        return program
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    command = [compiler, "-O3", "-std=c++20", str(sources[0]), "-o", str(program), *libraries]
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit(f"allreduce: {shlex.join(command)} failed")
    return program


def run(command, environment):
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"allreduce: {command} failed: {done.stderr.strip()[-500:]}")
    return done.stdout.splitlines()


class Contenders:
    def __init__(self, options):
        self.options = options
        self.mpi = build("mpi_allreduce", "mpic++", [])
        self.gloo = build("gloo_allreduce", "g++", ["-lgloo", "-lpthread"])

    def times(self, name):
        """Size in bytes -> microseconds of one call."""
        if name.startswith("annulus"):
            return self.annulus(OVER_TCP if name.endswith("tcp") else {})
        if name.startswith("gloo"):
            return self.parsed(name, self.gloo_ring())
        bindings = ["none"] if self.options.ranks > (os.cpu_count() or 1) else ["core", "none"]
        trials = [self.parsed(name, self.openmpi(name.endswith("tcp"), b)) for b in bindings]
        return {size: min(trial[size] for trial in trials) for size in self.options.sizes}

    @staticmethod
    def parsed(name, rows):
        found = {}
        for row in rows:
            size, microseconds, wrong = row.split()
            if wrong != "0":
                sys.exit(f"allreduce: {name} has {wrong} wrong values at {size} bytes")
            found[int(size)] = float(microseconds)
        return found

    def annulus(self, environment):
        sizes = self.options.sizes
        factor = sizes[1] // sizes[0] if len(sizes) > 1 else 2
        command = [ANNULUS, "bench", "allreduce", "--json", "--ranks", self.options.ranks]
        command += ["-b", sizes[0], "-e", sizes[-1], "-f", factor]
        rows = [json.loads(line) for line in run(command, environment)]
        return {row["size"]: row["time_us"] for row in rows}

    def openmpi(self, tcp, binding):
        """Ranks bound to cores are faster on an idle machine, free ones on a busy machine."""
        command = ["mpirun", "-np", self.options.ranks, "--oversubscribe", "--bind-to", binding]
        command += ["--mca", "pml", "ob1"]
        command += ["--mca", "btl", "self,tcp" if tcp else "self,vader"]
        command += ["--mca", "btl_tcp_if_include", "lo"] if tcp else []
        return run([*command, self.mpi, *self.options.sizes], MPI_ENVIRONMENT)

    def gloo_ring(self):
        with tempfile.TemporaryDirectory() as folder:
            return run([self.gloo, self.options.ranks, folder, *self.options.sizes], {})


def take_turns(options):
    """Contender -> size -> one time a turn."""
    contenders = Contenders(options)
    names = [name for group in GROUPS.values() for name in group]
    times = {name: {size: [] for size in options.sizes} for name in names}
    for turn in range(options.turns):
        for name in names:
            for size, microseconds in contenders.times(name).items():
                times[name][size].append(microseconds)
        load = os.getloadavg()[0]
        print(f"turn {turn + 1}/{options.turns}, load {load:.1f}", file=sys.stderr, flush=True)
    return times


def busbw(size, microseconds, ranks):
    return size / microseconds / 1e3 * 2 * (ranks - 1) / ranks


def print_table(options, times):
    for group, names in GROUPS.items():
        own, peers = names[0], names[1:]
        print(f"\n{group}, {options.ranks} ranks: us (busbw GB/s), median of {options.turns} turns")
        heads = "".join(f"{name:>22}" for name in names)
        print(f"{'bytes':>10}{heads}{'best peer / ours':>20}")
        for size in options.sizes:
            row = f"{size:>10}"
            for name in names:
                median = statistics.median(times[name][size])
                row += f"{median:>13.2f} ({busbw(size, median, options.ranks):6.3f})"
            best = [min(turn) for turn in zip(*(times[peer][size] for peer in peers))]
            ratio = statistics.median(peer / ours for peer, ours in zip(best, times[own][size]))
            print(f"{row}{ratio:>20.2f}")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench allreduce", description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument(
        "--sizes",
        default=",".join(str(1024 * 4**step) for step in range(9)),
        help="bytes, each the same number of times the one before",
    )
    options = parser.parse_args()
    options.sizes = [int(size) for size in options.sizes.split(",")]
    print_table(options, take_turns(options))


main()
