#!/usr/bin/python3
"""Writes pytorch-tiny.safetensors and pytorch-tiny.json: a network with a layer of each kind as PyTorch names and
lays out its tensors, eight images, and the logits in double precision. Usage: make_pytorch_file.py [FOLDER]
"""
import json
import pathlib
import sys

import numpy as np
import torch
from torch import nn

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pytorch"))  # where safetensors is not installed
from safetensors.torch import save_file  # noqa: E402

MEAN, STD = [100.0, 120.0, 140.0], [50.0, 60.0, 70.0]


class Tiny(nn.Module):
    """Images [3,6,4]; the Dense behind Flatten sees [4,3,2], so a wrong order of its columns shows."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4)
        self.dense1, self.bn3, self.dense2 = nn.Linear(24, 5), nn.BatchNorm1d(5), nn.Linear(5, 3)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 2)
        x = torch.relu(self.bn2(self.conv2(x)) + x)
        return self.dense2(torch.relu(self.bn3(self.dense1(x.flatten(1)))))


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    random = np.random.RandomState(7)
    net = Tiny().eval()
    for name, tensor in net.state_dict().items():
        if tensor.dtype == torch.float32:
            low = 0.5 if name.endswith("running_var") else -0.5
            tensor.copy_(torch.from_numpy(random.uniform(low, 1.0, tensor.shape).astype(np.float32)))
    images = random.randint(0, 256, (8, 6, 4, 3)).astype(np.uint8)
    save_file(net.state_dict(), folder / "pytorch-tiny.safetensors")
    pixels = torch.from_numpy(images).double().permute(0, 3, 1, 2)
    shape = (1, 3, 1, 1)
    with torch.no_grad():
        logits = net.double()((pixels - torch.tensor(MEAN).reshape(shape)) / torch.tensor(STD).reshape(shape))
    facts = {"images": images.reshape(-1).tolist(), "logits": [[round(v, 9) for v in row] for row in logits.tolist()]}
    (folder / "pytorch-tiny.json").write_text(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main()
