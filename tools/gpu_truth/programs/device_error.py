"""Dies of what the device says: device_error.py cuda|cpu token-outside|illegal-access|out-of-memory."""

from __future__ import annotations

import sys

import torch

DEVICE, CASE = sys.argv[1:3]


def token_outside() -> None:
    """A token behind the end of the embedding: a device-side assertion on a GPU."""
    table = torch.nn.Embedding(100, 8).to(DEVICE)
    print(table(torch.tensor([5, 100], device=DEVICE)).sum().item())


def illegal_access() -> None:
    """A kernel of one's own that writes far outside of its tensor."""
    import triton
    import triton.language as tl

    @triton.jit
    def outside(pointer, distance):
        tl.store(pointer + distance, 1.0)

    target = torch.zeros(4, device=DEVICE)
    outside[(1,)](target, 1 << 44)
    torch.cuda.synchronize()


def out_of_memory() -> None:
    """More than there is: activations that are all kept."""
    layer = torch.nn.Linear(4096, 4096).to(DEVICE)
    kept = [torch.empty(1 << 60, device=DEVICE)] if DEVICE == "cpu" else []
    while True:
        kept.append(layer(torch.randn(1 << 18, 4096, device=DEVICE)))


def main() -> None:
    {"token-outside": token_outside, "illegal-access": illegal_access, "out-of-memory": out_of_memory}[CASE]()


main()
