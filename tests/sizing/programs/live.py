"""Bytes of tensors that are alive: what an allocator of the CPU would say, had it one to ask."""

from __future__ import annotations

import weakref
from collections import defaultdict

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter


class Live(TorchDispatchMode):
    """Counts the bytes of storages that are alive, and the most of them in each phase."""

    def __init__(self):
        super().__init__()
        self.live, self.phase = 0, "start"
        self.peaks = defaultdict(int)
        self.seen = weakref.WeakSet()

    def add(self, tensor):
        if tensor.device.type != "cpu":
            return
        storage = tensor.untyped_storage()
        if storage in self.seen:
            return
        self.seen.add(storage)
        size = storage.nbytes()
        self.live += size
        self.peaks[self.phase] = max(self.peaks[self.phase], self.live)
        weakref.finalize(storage, self.drop, size)

    def drop(self, size):
        self.live -= size

    def enter(self, phase):
        self.phase = phase
        self.peaks[phase] = max(self.peaks[phase], self.live)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for each in tree_iter(out):
            if isinstance(each, torch.Tensor):
                self.add(each)
        return out
