"""Tensors of PyTorch from and to a file; see the package."""
import json
import struct

import numpy as np
import torch

TYPES = {"F32": torch.float32, "F16": torch.float16, "I64": torch.int64}


def load_file(path):
    """A state_dict."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, values = json.loads(file.read(size)), bytearray(file.read())
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensor = torch.frombuffer(values[begin:end], dtype=TYPES[entry["dtype"]])
        tensors[name] = tensor.reshape(entry["shape"])
    return tensors


def save_file(tensors, path, metadata=None):
    """Writes a state_dict."""
    names = {dtype: name for name, dtype in TYPES.items()}
    header, chunks, offset = {}, [], 0
    if metadata:
        header["__metadata__"] = metadata
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        chunk = np.ascontiguousarray(tensor.detach().numpy()).tobytes()
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(chunk)]}
        chunks.append(chunk)
        offset += len(chunk)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(chunks))
