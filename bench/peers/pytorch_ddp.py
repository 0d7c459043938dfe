#!/usr/bin/python3
"""Two-rank DistributedDataParallel over gloo, timed: the work of `bench_overlap`.

Ranks are processes with a thread each. Blocks of steps with gradient all-reduce and without (no_sync) take
turns in the same processes. Prints one JSON line. Called by ddp.py, once per turn.
"""
import argparse
import contextlib
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch import nn

from pytorch_models import MODELS, sgd_nesterov

RANKS = 2


def make_step(options):
    torch.manual_seed(0)
    memory_format = torch.channels_last if options.model == "seed-cnn" else torch.contiguous_format
    model = MODELS[options.model]().train().to(memory_format=memory_format)
    optimizer = sgd_nesterov(model)
    wrapped = nn.parallel.DistributedDataParallel(
        model, gradient_as_bucket_view=True, broadcast_buffers=False
    )
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    images = torch.randn(options.batch_size, 3, 32, 32).contiguous(memory_format=memory_format)
    labels = torch.randint(10, (options.batch_size,))

    def step(reduce_gradients):
        optimizer.zero_grad(set_to_none=True)
        with contextlib.nullcontext() if reduce_gradients else wrapped.no_sync():
            loss_function(wrapped(images), labels).backward()
        optimizer.step()

    return step


def time_block(step, steps, reduce_gradients):
    """Seconds a step, from the barrier before to the barrier behind."""
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(steps):
        step(reduce_gradients)
    dist.barrier()
    return (time.perf_counter() - begin) / steps


def agree(value):
    """Rank 0's number, on every rank."""
    tensor = torch.tensor([float(value)])
    dist.broadcast(tensor, 0)
    return tensor.item()


def run_rank(rank, options):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=options.port, GLOO_SOCKET_IFNAME="lo")
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    step = make_step(options)
    time_block(step, 3, True)
    steps = int(agree(min(100, max(3, 0.25 / time_block(step, 3, True)))))
    whole, alone, end = [], [], time.perf_counter() + options.seconds
    while agree(len(whole) < 3 or time.perf_counter() < end):
        alone.append(time_block(step, steps, False))
        whole.append(time_block(step, steps, True))
    if rank == 0:
        ratios = [a / b for a, b in zip(whole, alone)]
        print(
            json.dumps(
                {
                    "step_ms": 1000 * statistics.median(whole),
                    "no_comm_ms": 1000 * statistics.median(alone),
                    "ratio": statistics.median(ratios),
                    "images_per_sec": RANKS * options.batch_size / statistics.median(whole),
                }
            )
        )
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, default="seed-cnn")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--port", default="29533")
    options = parser.parse_args()
    processes.spawn(run_rank, (options,), RANKS)


if __name__ == "__main__":
    main()
