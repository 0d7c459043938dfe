#!/usr/bin/env python3
"""Reads a CIFAR-10 batch as Python programs do, with numpy where it is, else with stand-ins that keep what they are given.
usage: read_cifar_pickle.py FILE      prints shape, dtype, labels and the sum of the pixels"""
import pickle
import sys
import types

try:
    import numpy
except ImportError:
    numpy = types.ModuleType('numpy')
    multiarray = types.ModuleType('numpy.core.multiarray')

    class dtype:
        def __init__(self, code, align, copy):
            self.code = code

        def __setstate__(self, state):
            assert state == (3, '|', None, None, None, -1, -1, 0), state

        def __str__(self):
            return {'u1': 'uint8'}[self.code]

    class ndarray:
        def __setstate__(self, state):
            version, self.shape, self.dtype, fortran, self.contents = state
            assert (version, fortran) == (1, False)

        def sum(self):
            return sum(self.contents.encode('latin1'))

    def _reconstruct(kind, shape, code):
        assert kind is ndarray and shape == (0,), (kind, shape)
        return ndarray()

    numpy.dtype, numpy.ndarray, multiarray._reconstruct = dtype, ndarray, _reconstruct
    sys.modules.update({'numpy': numpy, 'numpy.core': types.ModuleType('numpy.core'), 'numpy.core.multiarray': multiarray})

with open(sys.argv[1], 'rb') as file:
    batch = pickle.load(file, encoding='latin1')
print(tuple(batch['data'].shape), str(batch['data'].dtype), batch['labels'], int(batch['data'].sum()))
