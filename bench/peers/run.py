#!/usr/bin/python3
"""Annulus beside PyTorch on the same training step, taken in turn: ./dev bench peers.

A turn runs each contender once for a few seconds; a noisy machine then disturbs all of them alike.
Prints the median and spread of images/s over the turns, the peak memory of a whole process, and how
many times as fast Annulus is: the
median of the turns' own ratios, and its best turn against the contender's best.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCH_TRAIN = HERE.parents[1] / "build/cpu/bin/bench_train"
OPENBLAS = "/usr/lib/x86_64-linux-gnu/openblas-openmp"  # with the reference BLAS PyTorch is slower
CPU_FLAGS = Path("/proc/cpuinfo").read_text()
OPENBLAS_CORE = "SkylakeX" if " avx512vl" in CPU_FLAGS else "Haswell"  # it misjudges newer CPUs
KEEP_MEMORY = {  # glibc returns freed activations to the kernel by default; each step then faults anew
    "MALLOC_TOP_PAD_": str(1 << 30),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 32),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 34),
}


def contenders(options):
    """Name -> (command, extra environment); the first is Annulus."""
    size = ["--batch-size", str(options.batch_size), "--threads", str(options.threads)]
    size += ["--seconds", str(options.seconds)]
    torch = [str(HERE / "pytorch_train.py"), *size]
    blas = {"LD_LIBRARY_PATH": OPENBLAS, "OPENBLAS_CORETYPE": OPENBLAS_CORE}
    found = {
        "annulus": ([str(BENCH_TRAIN), "--model", "seed-cnn", "--json", *size], {}),
        "pytorch nhwc": ([*torch, "--layout", "nhwc"], blas),
        "pytorch nhwc, tuned malloc": ([*torch, "--layout", "nhwc"], {**blas, **KEEP_MEMORY}),
        "pytorch nchw, tuned malloc": ([*torch, "--layout", "nchw"], {**blas, **KEEP_MEMORY}),
        "pytorch nhwc, tuned, patient": (
            [*torch, "--layout", "nhwc"],
            {**blas, **KEEP_MEMORY, "OMP_WAIT_POLICY": "PASSIVE"},
        ),
    }
    if options.only_pytorch:
        del found["annulus"]
    return found


def measure(name, command, environment):
    """Images/s, and the process's peak memory in MiB."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"peers: {name} failed ({' '.join(command)}): {errors.read().strip()[-500:]}")
    return json.loads(output.splitlines()[-1])["images_per_sec"], usage.ru_maxrss / 1024


def take_turns(options):
    rates = {name: [] for name in contenders(options)}
    memory = {}
    for turn in range(options.turns):
        for name, (command, environment) in contenders(options).items():
            rate, peak = measure(name, command, environment)
            rates[name].append(rate)
            memory[name] = max(peak, memory.get(name, 0))
        latest = "  ".join(f"{name} {rate[-1]:.0f}" for name, rate in rates.items())
        print(f"turn {turn + 1}/{options.turns}: {latest}", file=sys.stderr, flush=True)
    return rates, memory


def print_table(rates, memory):
    own = rates.get("annulus")
    head = f"{'images/s':30}{'median':>8}{'worst':>8}{'best':>8}{'peak MiB':>10}"
    print(f"{head}{'annulus: of median':>20}{'of best':>9}")
    for name, rate in rates.items():
        row = f"{name:30}{statistics.median(rate):8.1f}{min(rate):8.1f}{max(rate):8.1f}{memory[name]:10.0f}"
        if own and rate is not own:
            paired = statistics.median(a / b for a, b in zip(own, rate))
            row += f"{paired:19.2f}x{max(own) / max(rate):8.2f}x"
        print(row)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of timed steps a turn (default 5)")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only-pytorch", action="store_true")
    options = parser.parse_args()
    print(
        f"seed-cnn training, batch {options.batch_size}, {options.threads} threads, "
        f"{options.turns} turns of {options.seconds:g} s"
    )
    print_table(*take_turns(options))


if __name__ == "__main__":
    main()
