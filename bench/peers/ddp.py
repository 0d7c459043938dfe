#!/usr/bin/python3
"""Two ranks of Annulus beside PyTorch's DDP over gloo, taken in turn: ./dev bench ddp.

For each model and batch: the step, the step without communication, and their ratio, medians over the turns;
a noisy machine disturbs both alike.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from run import HERE, KEEP_MEMORY, OPENBLAS, OPENBLAS_CORE

BENCH_OVERLAP = HERE.parents[1] / "build/cpu/bin/bench_overlap"
WORK = (("seed-cnn", 64), ("seed-cnn", 4), ("mlp", 64))


def contenders(model, batch_size, options):
    """Name -> (command, extra environment)."""
    work = ["--model", model, "--batch-size", str(batch_size), "--seconds", str(options.seconds)]
    blas = {"LD_LIBRARY_PATH": OPENBLAS, "OPENBLAS_CORETYPE": OPENBLAS_CORE}
    ours = [str(BENCH_OVERLAP), "--json", "--plans", options.bucket_size, *work]
    return {
        "annulus": (ours, {}),
        "pytorch ddp, gloo": ([str(HERE / "pytorch_ddp.py"), *work], {**blas, **KEEP_MEMORY}),
    }


def measure(name, command, environment):
    try:
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"ddp: {name} hung ({' '.join(command)})")
    if done.returncode != 0:
        sys.exit(f"ddp: {name} failed ({' '.join(command)}): {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(prog="./dev bench ddp", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="a contender, turn and model (default 5)")
    parser.add_argument("--bucket-size", default="128K,512K", help="of Annulus (default 128K,512K)")
    options = parser.parse_args()
    print(f"{'':34}{'step ms':>9}{'no comm':>9}{'ratio':>7}{'images/s':>10}{'annulus':>9}")
    for model, batch_size in WORK:
        figures = {}
        for _ in range(options.turns):
            for name, (command, environment) in contenders(model, batch_size, options).items():
                figures.setdefault(name, []).append(measure(name, command, environment))
        own = figures["annulus"]
        for name, turns in figures.items():
            median = {key: statistics.median(t[key] for t in turns) for key in turns[0] if key.endswith(("ms", "ratio", "sec"))}
            faster = statistics.median(t["step_ms"] / o["step_ms"] for t, o in zip(turns, own))
            print(
                f"{f'{model}, batch {batch_size} x 2: {name}':34}{median['step_ms']:9.2f}{median['no_comm_ms']:9.2f}"
                f"{median['ratio']:7.3f}{median['images_per_sec']:10.1f}{faster:8.2f}x",
                flush=True,
            )


main()
