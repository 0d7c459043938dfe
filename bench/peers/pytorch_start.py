#!/usr/bin/python3
"""Reads CIFAR-10's binary files and does one training step of seed-cnn in PyTorch. Called by start.py."""
import sys
from pathlib import Path

import numpy
import torch
from torch import nn

from pytorch_models import seed_cnn, sgd_nesterov


def read(path):
    records = numpy.fromfile(path, dtype=numpy.uint8).reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(numpy.int64)


def main():
    folder = Path(sys.argv[1])
    read(folder / "test_batch.bin")
    parts = [read(folder / f"data_batch_{i}.bin") for i in range(1, 6)]
    images = numpy.concatenate([part[0] for part in parts])
    labels = numpy.concatenate([part[1] for part in parts])
    mean = images.mean(axis=(0, 2, 3), dtype=numpy.float64)
    deviation = images.std(axis=(0, 2, 3), dtype=numpy.float64)

    torch.set_num_threads(2)
    model = seed_cnn().train().to(memory_format=torch.channels_last)
    optimizer = sgd_nesterov(model)
    batch = (images[:64] - mean[:, None, None]) / deviation[:, None, None]
    batch = torch.tensor(batch, dtype=torch.float32).contiguous(memory_format=torch.channels_last)
    nn.CrossEntropyLoss(label_smoothing=0.1)(model(batch), torch.tensor(labels[:64])).backward()
    optimizer.step()


main()
