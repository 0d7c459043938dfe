#!/usr/bin/python3
"""The training step of seed-cnn in PyTorch, timed: the work of `bench_train --model seed-cnn`.

Forward, label-smoothed loss, backward and SGD-Nesterov on batches that lie ready in memory; nothing is
loaded or augmented, which favours PyTorch. Prints one JSON line. Called by run.py, once per turn.
"""
import argparse
import contextlib
import json
import statistics
import time

import torch
from torch import nn

from pytorch_models import seed_cnn, sgd_nesterov


HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def make_step(batch_size, memory_format, device, precision):
    """One training step over a few prepared batches, as a function of the step's number."""
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
    model = seed_cnn().train().to(device, memory_format=memory_format)
    optimizer = sgd_nesterov(model)
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    images = [
        torch.randn(batch_size, 3, 32, 32).to(device, memory_format=memory_format) for _ in range(4)
    ]
    labels = [torch.randint(10, (batch_size,), device=device) for _ in images]
    half = HALF.get(precision)
    autocast = lambda: torch.autocast(device, half) if half else contextlib.nullcontext()  # noqa: E731
    scaler = torch.amp.GradScaler() if precision == "fp16" else None

    def step(number):
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            loss = loss_function(model(images[number % 4]), labels[number % 4])
        if scaler:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()

    return step


def step_times(step, seconds):
    for number in range(8):  # warm-up: primitives and engines are chosen, the allocator fills
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
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("fp32", "tf32", "bf16", "fp16"), default="fp32")
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    layouts = {"nhwc": torch.channels_last, "nchw": torch.contiguous_format}
    step = make_step(options.batch_size, layouts[options.layout], options.device, options.precision)
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
