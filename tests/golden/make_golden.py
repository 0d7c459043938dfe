#!/usr/bin/python3
"""Writes the golden files of this folder: five training steps in PyTorch in double precision, summarised.

The same steps in single precision, in four variants that differ by rounding alone, give the tolerances.
Usage: make_golden.py [FOLDER]   (Debian: apt-get install python3-torch)
"""
import itertools
import json
import pathlib
import sys

import numpy as np
import torch

import inputs
import models
import training

SGD = {"kind": "sgd", "learning_rate": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 5e-4}
ADAM = {"kind": "adam", "learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8,
        "weight_decay": 0.1}

# Model, optimizer, seed. The seeds are those of the first 150 with the widest kink margin: where an
# activation lies within rounding of a kink, two right implementations take different sides, and their
# gradients part for good.
RUNS = {
    "seed-cnn-sgd": (models.seed_cnn, SGD, 51),
    "resnet-8-sgd": (models.resnet_8, SGD, 8),
    "resnet-8-adam": (models.resnet_8, ADAM, 98),
    "resnet-8-adamw": (models.resnet_8, {**ADAM, "kind": "adamw"}, 14),
}

ARRAYS = ("gradients", "parameters", "running_means", "running_variances")
SAMPLED_STEPS = (1, 5)  # the steps whose summaries carry single elements
SAFETY = 10  # a tolerance is SAFETY * the largest error of single-precision PyTorch
FLOOR = 1e-5  # and at least this part of the norm, or of the root mean square, of the double result


def rounded(value, digits=8):
    return float(f"{value:.{digits}g}")


def tolerance(errors, size):
    return rounded(max(SAFETY * max(errors), FLOOR * size), 2)


def summary(golden, singles, indices):
    """What a tensor is compared by; README.md says how."""
    golden, norm = golden.reshape(-1), np.linalg.norm(golden)
    errors = [np.abs(single.reshape(-1) - golden) for single in singles]
    norm_tolerance = tolerance([np.linalg.norm(error) for error in errors], norm)
    element_tolerance = tolerance([error.max() for error in errors], norm / np.sqrt(golden.size))
    samples = {"samples": [[i, rounded(golden[i])] for i in indices]} if indices else {}
    return {"l2": rounded(norm), "sum": rounded(golden.sum()),
            "tolerance": [norm_tolerance, element_tolerance], **samples}


def summarise(number, golden, singles, seed):
    errors = [abs(single["loss"] - golden["loss"]) for single in singles]
    result = {"step": number, "loss": rounded(golden["loss"]),
              "loss_tolerance": tolerance(errors, golden["loss"])}
    for kind in ARRAYS:
        result[kind] = []
        for i, array in enumerate(golden[kind]):
            indices = inputs.sampled_indices(seed, i, array.size) if number in SAMPLED_STEPS else []
            result[kind].append(summary(array, [single[kind][i] for single in singles], indices))
    return result


def single_precision_variants(build, options, seed):
    for onednn, reversed_batch in itertools.product((True, False), repeat=2):
        with torch.backends.mkldnn.flags(enabled=onednn):
            yield training.train(build, options, seed, torch.float32, reversed_batch)[0]


def first_inputs(seed, tensors):
    """A few inputs, so that a reader in another language can tell a wrong input from a wrong step."""
    return {"parameter": inputs.initial_values(seed, 0, tensors[0]).reshape(-1)[:4].tolist(),
            "image": inputs.images(seed).reshape(-1)[:8].tolist(), "labels": inputs.labels(seed)[:8].tolist()}


def make(name, build, options, seed):
    tensors = training.describe(build())
    golden, margin = training.train(build, options, seed, torch.float64)
    variants = list(single_precision_variants(build, options, seed))
    steps = [summarise(i + 1, state, [variant[i] for variant in variants], seed)
             for i, state in enumerate(golden)]
    return {
        "model": name.rsplit("-", 1)[0], "made_with": f"torch {torch.__version__}, float64",
        "seed": seed, "images": inputs.IMAGES, "batch": training.BATCH, "mean": inputs.MEAN, "std": inputs.STD,
        "label_smoothing": training.SMOOTHING, "batchnorm_momentum": 0.1, "optimizer": options,
        "kink_margin": rounded(margin, 2), "first_inputs": first_inputs(seed, tensors),
        "tensors": tensors, "steps": steps,
    }


def as_lines(golden):
    """JSON with one line for each entry of a list of objects, so that a difference can be read."""
    text = json.dumps(golden, separators=(",", ":"))
    return text.replace("},{", "},\n{").replace(":[{", ":[\n{") + "\n"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    torch.set_num_threads(1)
    for name, run in RUNS.items():
        golden = make(name, *run)
        (folder / f"{name}.json").write_text(as_lines(golden))
        losses = [step["loss"] for step in golden["steps"]]
        print(f"{name}.json: kink margin {golden['kink_margin']}, losses {losses}")


if __name__ == "__main__":
    main()
