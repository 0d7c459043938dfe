#!/usr/bin/env python3
"""Prints kTrajectories of optimizer_test.cpp: PyTorch's optimizers in double on two parameters.

Made with Debian 12's python3-torch 1.13.0a0.
"""
import torch

GRADIENTS = [[0.3, -1.0], [0.1, 2.0], [-0.7, 0.5]]
START = [1.0, -2.0]
COMMON = dict(lr=0.1, weight_decay=0.01)
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, momentum=0.9, **COMMON),
    "nesterov": lambda p: torch.optim.SGD(p, momentum=0.9, nesterov=True, **COMMON),
    "adam": lambda p: torch.optim.Adam(p, **COMMON),
    "adamw": lambda p: torch.optim.AdamW(p, **COMMON),
}

for name, make in OPTIMIZERS.items():
    parameter = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    optimizer = make([parameter])
    for gradient in GRADIENTS:
        parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        print(name, ", ".join(f"{value:.9g}" for value in parameter.tolist()))
