"""Small data sets in the layouts of CIFAR-10 and MNIST, of random images: enough for bits to be
compared, and read in no time. Called by launched.py."""
from __future__ import annotations

import pathlib
import random
import struct


def write_cifar10(folder: pathlib.Path, images: int = 640, test_images: int = 20) -> None:
    """The binary version; `images` in all, a fifth in each batch."""
    chance = random.Random(10)
    for name, count in [(f"data_batch_{i}", images // 5) for i in range(1, 6)] + [
            ("test_batch", test_images)]:
        records = (bytes([chance.randrange(10)]) + chance.randbytes(3072) for _ in range(count))
        (folder / f"{name}.bin").write_bytes(b"".join(records))


def write_mnist(folder: pathlib.Path, images: int = 640, test_images: int = 20) -> None:
    """The idx files."""
    chance = random.Random(28)
    for name, count in (("train", images), ("t10k", test_images)):
        pixels = struct.pack(">IIII", 0x803, count, 28, 28) + chance.randbytes(count * 784)
        labels = bytes(chance.randrange(10) for _ in range(count))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(pixels)
        head = struct.pack(">II", 0x801, count)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(head + labels)
