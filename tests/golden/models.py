"""seed-cnn and resnet-8 in PyTorch with dropout off, parameters in the order of Annulus's forward pass.

Every ReLU and max-pool is a module, so that a hook can see how near to a kink its inputs come.
"""
from torch import nn


class FlattenNhwc(nn.Module):
    """Annulus flattens NHWC; doing so here too spares a permutation of the Dense weights behind it."""

    def forward(self, x):
        return x.permute(0, 2, 3, 1).flatten(1)


class GlobalAverage(nn.Module):
    def forward(self, x):
        return x.mean(dim=(2, 3))


def seed_cnn():
    layers, channels = [], 3
    for width in (32, 64, 128):
        for _ in range(2):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            channels = width
        layers += [nn.MaxPool2d(2)]
    layers += [FlattenNhwc(), nn.Linear(4 * 4 * 128, 128), nn.BatchNorm1d(128), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(128, 10))


def conv_batchnorm(in_channels, out_channels, kernel, stride=1):
    conv = nn.Conv2d(in_channels, out_channels, kernel, stride, padding=kernel // 2, bias=False)
    return [conv, nn.BatchNorm2d(out_channels)]


class Block(nn.Module):
    """relu(main(x) + shortcut(x)): He et al. 2016 (arXiv:1512.03385), projected if the shape changes."""

    def __init__(self, in_channels, out_channels, stride):
        super().__init__()
        first = conv_batchnorm(in_channels, out_channels, 3, stride)
        second = conv_batchnorm(out_channels, out_channels, 3)
        self.main = nn.Sequential(*first, nn.ReLU(), *second)
        projection = conv_batchnorm(in_channels, out_channels, 1, stride) if stride != 1 else []
        self.shortcut = nn.Sequential(*projection)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.main(x) + self.shortcut(x))


def resnet_8():
    blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
    stem = [*conv_batchnorm(3, 16, 3), nn.ReLU()]
    return nn.Sequential(*stem, *blocks, GlobalAverage(), nn.Linear(64, 10))
