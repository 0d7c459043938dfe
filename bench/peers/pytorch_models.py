"""Annulus' models and recipe in PyTorch, for the scripts that time the same work there."""
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


def mlp():
    """Two hidden layers of 256."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(3 * 32 * 32, 256),
        nn.ReLU(inplace=True),
        nn.Linear(256, 256),
        nn.ReLU(inplace=True),
        nn.Dropout(0.2),
        nn.Linear(256, 10),
    )


MODELS = {"seed-cnn": seed_cnn, "mlp": mlp}
