#!/usr/bin/python3
"""PyTorch and Annulus read each other's weights and give the same logits, for every model and both ways, by the code
of docs/pytorch.md and README.md. Usage: pytorch_test.py ANNULUS. Ends with 77 where PyTorch is not installed.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(pathlib.Path(__file__).parent))  # a stand-in, where safetensors is not installed
IMAGES, TOLERANCE = 100, 1e-4


def code_of(page):
    """The Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


def annulus(*arguments, code=0):
    result = subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True, check=False)
    assert result.returncode == code, f"{arguments}: {result.returncode}, {result.stderr}"
    return result


def write_cifar(folder, images, labels):
    folder.mkdir()
    records = np.concatenate([labels[:, None], images.reshape(len(images), -1)], axis=1).astype(np.uint8)
    for part in range(5):
        (folder / f"data_batch_{part + 1}.bin").write_bytes(records[part::5].tobytes())
    (folder / "test_batch.bin").write_bytes(records.tobytes())


def write_mnist(folder, images, labels):
    folder.mkdir()
    for part in ("train", "t10k"):
        head = struct.pack(">4I", 0x803, *images[:, 0].shape)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, len(labels)) + labels.tobytes())


def evaluate(weights, data, *options):
    """Annulus' logits and accuracy."""
    path = pathlib.Path("predictions.jsonl")
    line = annulus("eval", "--weights", weights, "--data", data, "--predictions", path, *options).stdout
    rows = [json.loads(text) for text in path.read_text().splitlines()]
    assert [row["image"] for row in rows] == list(range(IMAGES))
    assert all(row["class"] == int(np.argmax(row["logits"])) for row in rows)
    return torch.tensor([row["logits"] for row in rows]), float(re.search(r"val_accuracy=(\S+)", line)[1])


def compare(name, net, inputs, labels, theirs):
    with torch.no_grad():
        logits = net(inputs)
    difference = (logits - theirs[0]).abs().max().item()
    accuracy = (logits.argmax(1).numpy() == labels).mean()
    print(f"{name}: logits differ by at most {difference:.1e}, accuracy {accuracy:.2f} and {theirs[1]}")
    assert difference < TOLERANCE and abs(accuracy - theirs[1]) < 1e-9
    assert logits.std(0).min() > 0.01, "logits that do not depend on the image show nothing"


def check_model(name, names, data, pixels, labels):
    annulus("train", "--model", name, "--data", data, "--batch-size", 20, "--epochs", 2, "--out", f"runs/{name}")
    path = f"runs/{name}/model.safetensors"
    net, normalise = names["load_network"](path)
    compare(f"{name} to PyTorch", net, normalise(pixels), labels, evaluate(f"runs/{name}", data))

    inputs = (pixels - pixels.mean((0, 2, 3), keepdim=True)) / pixels.std((0, 2, 3), unbiased=False, keepdim=True)
    net = names["NETWORKS"][name]()
    for _ in range(20):
        net(inputs)  # running statistics that count
    names["save_file"](net.eval().state_dict(), "theirs.safetensors")
    compare(f"{name} from PyTorch", net, inputs, labels, evaluate("theirs.safetensors", data, "--model", name))
    error = annulus("eval", "--weights", "theirs.safetensors", "--data", data, code=3).stderr
    assert "give it with --model" in error, error


def main():
    random = np.random.RandomState(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        torch.manual_seed(1)
        names = {}
        for block in code_of("docs/pytorch.md"):
            exec(block, names)  # pylint: disable=exec-used
        labels = (np.arange(IMAGES) % 10).astype(np.uint8)
        for name in names["NETWORKS"]:
            shape = (1, 28, 28) if name == "mnist-cnn" else (3, 32, 32)
            images = random.randint(0, 256, (IMAGES, *shape)).astype(np.uint8)
            data = pathlib.Path(f"data-{name}")
            (write_mnist if shape[0] == 1 else write_cifar)(data, images, labels)
            check_model(name, names, data, torch.from_numpy(images).float(), labels)
        os.rename("runs/seed-cnn", "runs/first")
        for block in code_of("README.md"):
            if "load_state_dict" in block:
                exec(block, {})  # pylint: disable=exec-used
                break
        else:
            raise AssertionError("README.md has no Python block that loads the weights")


if __name__ == "__main__":
    main()
