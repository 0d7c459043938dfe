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


def seed_cnn():
    """[Conv3x3, BN, ReLU] x2, MaxPool, Dropout for 32, 64 and 128 channels; Dense 128; Dense 10."""
    layers, in_channels = [], 3
    for channels in (32, 64, 128):
        for source in (in_channels, channels):
            layers += [
                nn.Conv2d(source, channels, 3, padding=1),
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
            ]
        layers += [nn.MaxPool2d(2), nn.Dropout(0.2)]
        in_channels = channels
    layers += [nn.Flatten(), nn.Linear(128 * 4 * 4, 128), nn.BatchNorm1d(128), nn.ReLU(inplace=True)]
    layers += [nn.Dropout(0.5), nn.Linear(128, 10)]
    return nn.Sequential(*layers)


def sgd_nesterov(model):
    """Weight decay on weights only, as Annulus' recipe has it; a group per kind, one fused update each."""
    weights = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": weights, "weight_decay": 5e-4}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.SGD(groups, lr=0.01, momentum=0.9, nesterov=True, foreach=True)


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
