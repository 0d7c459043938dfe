"""Five training steps in PyTorch: a model described, initialised and trained, its states recorded."""
import itertools

import numpy as np
import torch
from torch import nn

import inputs

STEPS, BATCH, SMOOTHING = 5, 8, 0.1
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)


def ours(tensor):
    """In Annulus's layout: convolution weights [K,C,R,S] -> [K,R,S,C], everything else as it is."""
    array = tensor.detach().double().numpy().copy()
    return array.transpose(0, 2, 3, 1) if array.ndim == 4 else array


def theirs(array):
    return torch.from_numpy(array.transpose(0, 3, 1, 2).copy() if array.ndim == 4 else array)


def initial_range(layer, part, shape):
    """|beta| well above gamma keeps all but a few activations away from the kink of the ReLU."""
    if len(shape) > 1:
        return {"center": 0.0, "half_width": float(np.sqrt(3.0 / np.prod(shape[1:]))), "gap": 0.0}
    if isinstance(layer, NORMS):
        return {"center": 0.5, "half_width": 0.1, "gap": 0.0} if part == "weight" else \
               {"center": 0.0, "half_width": 0.5, "gap": 1.5}
    return {"center": 0.0, "half_width": 0.1, "gap": 0.0}


def describe(model):
    """Name, shape and initial range of each parameter; biases that a BatchNorm cancels are marked."""
    layers = [layer for layer in model.modules() if isinstance(layer, (nn.Conv2d, nn.Linear, *NORMS))]
    counts, tensors = {}, []
    for layer, following in itertools.zip_longest(layers, layers[1:]):
        kind = {nn.Conv2d: "conv", nn.Linear: "dense"}.get(type(layer), "batchnorm")
        counts[kind] = counts.get(kind, 0) + 1
        for part, parameter in layer.named_parameters():
            shape = list(ours(parameter).shape)
            name = {"weight": "gamma", "bias": "beta"}[part] if kind == "batchnorm" else part
            cancelled = name == "bias" and isinstance(following, NORMS)
            tensors.append({"name": f"{kind}{counts[kind]}.{name}", "shape": shape,
                            **initial_range(layer, part, shape), "zero_gradient": cancelled})
    return tensors


def make_optimizer(model, options):
    """Weight decay on tensors of more than one dimension only: not on biases, gamma and beta."""
    groups = [{"params": [p for p in model.parameters() if (p.ndim > 1) == decays],
               "weight_decay": options["weight_decay"] if decays else 0.0} for decays in (True, False)]
    rate = options["learning_rate"]
    if options["kind"] == "sgd":
        return torch.optim.SGD(groups, rate, options["momentum"], nesterov=options["nesterov"])
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options["kind"]]
    return kind(groups, rate, (options["beta1"], options["beta2"]), options["epsilon"])


def kink_margin(layer, x):
    """How far the nearest input of a ReLU or max-pool is from where the gradient jumps."""
    if isinstance(layer, nn.ReLU):
        return x.abs().min().item()
    window = torch.stack([x[:, :, row::2, column::2] for row in (0, 1) for column in (0, 1)])
    first, second = window.topk(2, dim=0).values
    gaps = first - second
    return gaps[gaps > 0].min().item()  # equal ones are zeros behind a ReLU: no gradient passes there


def watch_kinks(model, margins):
    def note(layer, arguments):
        margins.append(kink_margin(layer, arguments[0].detach()))

    for layer in model.modules():
        if isinstance(layer, (nn.ReLU, nn.MaxPool2d)):
            layer.register_forward_pre_hook(note)


def train(build, options, seed, dtype, reversed_batch=False):
    """The state after each step, in Annulus's layout, and the smallest kink margin of all steps."""
    model, margins = build(), []
    for index, (parameter, tensor) in enumerate(zip(model.parameters(), describe(model))):
        parameter.data = theirs(inputs.initial_values(seed, index, tensor))
    model.to(dtype).train()
    watch_kinks(model, margins)
    optimizer = make_optimizer(model, options)
    x = theirs((inputs.images(seed).astype(np.float64) - inputs.MEAN) / inputs.STD).to(dtype)
    target = torch.from_numpy(inputs.labels(seed))
    states = []
    for step in range(STEPS):
        batch = list(range(step * BATCH, (step + 1) * BATCH))[:: -1 if reversed_batch else 1]
        loss = nn.functional.cross_entropy(model(x[batch]), target[batch], label_smoothing=SMOOTHING)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        states.append(state(model, loss))
    return states, min(margins)


def state(model, loss):
    norms = [layer for layer in model.modules() if isinstance(layer, NORMS)]
    return {
        "loss": loss.item(),
        "gradients": [ours(p.grad) for p in model.parameters()],
        "parameters": [ours(p) for p in model.parameters()],
        "running_means": [ours(norm.running_mean) for norm in norms],
        "running_variances": [ours(norm.running_var) for norm in norms],
    }
