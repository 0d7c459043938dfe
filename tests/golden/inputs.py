"""The inputs of the golden runs, from Philox alone: initial parameters, images, labels, sampled indices.

C++ makes the same bits from kernels/philox.h, so no input file is stored. README.md states the formulas.
"""
import numpy as np

PARAMETER, IMAGE, LABEL, SAMPLE = 1, 2, 3, 4  # the purpose part of the counter
IMAGES, CLASSES = 40, 10
MEAN = (125.0, 123.0, 114.0)
STD = (64.0, 32.0, 128.0)  # powers of two: normalisation is exact in single precision too


def philox(seed, purpose, position, blocks):
    """philox(seed, purpose, 0, position, block) for blocks 0 … blocks-1, as uint32 [4 * blocks]."""
    low = np.uint64(0xFFFFFFFF)
    counter = [np.arange(blocks, dtype=np.uint64)]
    counter += [np.full(blocks, word, np.uint64) for word in (position, 0, purpose)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        product0 = np.uint64(0xD2511F53) * counter[0]
        product1 = np.uint64(0xCD9E8D57) * counter[2]
        counter = [
            (product1 >> np.uint64(32)) ^ counter[1] ^ np.uint64(key[0]),
            product1 & low,
            (product0 >> np.uint64(32)) ^ counter[3] ^ np.uint64(key[1]),
            product0 & low,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(counter, axis=1).reshape(-1).astype(np.uint32)


def numbers(seed, purpose, position, count):
    """Number i is word i % 4 of block i / 4."""
    return philox(seed, purpose, position, (count + 3) // 4)[:count]


def initial_values(seed, index, tensor):
    """Parameter `index` of the model, fp32 in Annulus's layout, computed in double and rounded once."""
    bits = numbers(seed, PARAMETER, index, int(np.prod(tensor["shape"])))
    v = 2.0 * (bits >> 8).astype(np.float64) * 2.0**-24 - 1.0  # in [-1,1)
    gap = np.where(v < 0, -tensor["gap"], tensor["gap"])
    values = tensor["center"] + tensor["half_width"] * v + gap
    return values.astype(np.float32).reshape(tensor["shape"])


def images(seed):
    """[IMAGES,32,32,3] uint8."""
    rows = [numbers(seed, IMAGE, image, 32 * 32 * 3) >> 24 for image in range(IMAGES)]
    return np.stack(rows).astype(np.uint8).reshape(IMAGES, 32, 32, 3)


def labels(seed):
    """[IMAGES] in [0,CLASSES)."""
    return np.array([numbers(seed, LABEL, image, 1)[0] % CLASSES for image in range(IMAGES)], np.int64)


def sampled_indices(seed, index, count, samples=8):
    """Which elements of a tensor are stored: all of a small one, else random ones, in rising order."""
    if count <= samples:
        return list(range(count))
    return sorted({int(n) % count for n in numbers(seed, SAMPLE, index, samples)})
