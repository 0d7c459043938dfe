#!/usr/bin/python3
"""From the command to the end of the first training step, in Annulus and in PyTorch: ./dev bench start.

seed-cnn, batch 64, CIFAR-10's binary files on disk: read, normalise, build the model, one step. Taken in
turn. Annulus evaluates and saves its weights before it ends: the evaluation, which it times itself, is
taken off; the rest counts.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ANNULUS = HERE.parents[1] / "build/cpu/bin/annulus"


def seconds_of(command):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def annulus(data):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [ANNULUS, "train", "--model", "seed-cnn", "--data", data, "--out", run]
        seconds = seconds_of(command + ["--max-steps", "1", "--checkpoint-every", "never"])
        epoch = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])
        return seconds - epoch["evaluation_seconds"]


def pytorch(data):
    return seconds_of([HERE / "pytorch_start.py", data])


def main():
    parser = argparse.ArgumentParser(prog="./dev bench start", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--data", default=os.environ.get("ANNULUS_DATA"), help="default: $ANNULUS_DATA")
    options = parser.parse_args()
    if not options.data:
        sys.exit("start: no CIFAR-10; give the folder cifar-10-batches-bin with --data")
    turns = [(annulus(options.data), pytorch(options.data)) for _ in range(options.turns)]
    for name, seconds in zip(("annulus", "pytorch"), zip(*turns)):
        listed = "  ".join(f"{s:.2f}" for s in seconds)
        print(f"{name:10} median {statistics.median(seconds):.2f} s to the first step ({listed})")


main()
