"""The part of PyPI's `safetensors` that the tests and the documentation use, for machines without it: Debian 12
does not package it. Where the real one is installed, it is found first. The format:
https://github.com/huggingface/safetensors
"""
import json
import struct


class safe_open:  # noqa: N801, the name that users know
    """With `as file`: the metadata; `safetensors.torch.load_file` gives the tensors."""

    def __init__(self, path, framework):
        assert framework == "pt"
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            self.header = json.loads(file.read(size))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def metadata(self):
        return self.header.get("__metadata__")
