#!/usr/bin/python3
"""The training step of seed-cnn in PyTorch, timed: the work of `bench_train --model seed-cnn`.

Forward, label-smoothed loss, backward and SGD-Nesterov on batches that lie ready in memory; nothing is
loaded or augmented, which favours PyTorch. Prints one JSON line. Called by run.py, once per turn.
"""
import argparse
import json
import statistics
import time

import torch
from torch import nn

from pytorch_models import seed_cnn, sgd_nesterov


def make_step(batch_size, memory_format):
    """One training step over a few prepared batches, as a function of the step's number."""
    torch.manual_seed(0)
    model = seed_cnn().train().to(memory_format=memory_format)
    optimizer = sgd_nesterov(model)
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    images = [
        torch.randn(batch_size, 3, 32, 32).contiguous(memory_format=memory_format) for _ in range(4)
    ]
    labels = [torch.randint(10, (batch_size,)) for _ in images]

    def step(number):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_function(model(images[number % 4]), labels[number % 4])
        loss.backward()
        optimizer.step()

    return step


def step_times(step, seconds):
    for number in range(3):  # warm-up: oneDNN makes its primitives, the allocator fills
        step(number)
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        step(len(times))
        times.append(time.perf_counter() - begin)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--layout", choices=("nhwc", "nchw"), default="nhwc")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    layouts = {"nhwc": torch.channels_last, "nchw": torch.contiguous_format}
    step = make_step(options.batch_size, layouts[options.layout])
    times = step_times(step, options.seconds)
    print(
        json.dumps(
            {
                "images_per_sec": options.batch_size / statistics.median(times),
                "steps": len(times),
                "layout": options.layout,
                "torch": torch.__version__,
            }
        )
    )


main()
