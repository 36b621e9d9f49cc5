"""Dies on a GPU, in one of the ways in which trainings do: dying.py CASE."""

from __future__ import annotations

import sys

import torch

CASE = sys.argv[1]


def out_of_memory() -> None:
    """Activations that no card holds."""
    layer = torch.nn.Linear(4096, 4096).cuda()
    kept = []
    while True:
        kept.append(layer(torch.randn(1 << 18, 4096, device="cuda")))


def token_outside() -> None:
    """A token behind the end of the embedding."""
    table = torch.nn.Embedding(100, 8).cuda()
    print(table(torch.tensor([5, 100], device="cuda")).sum().item())


def probabilities() -> None:
    """Sampling from NaN."""
    logits = torch.zeros(2, 10, device="cuda")
    logits[0, 3] = float("nan")
    print(torch.multinomial(torch.softmax(logits, -1), 1).tolist())


def label_outside() -> None:
    """A class behind the last one."""
    loss = torch.nn.functional.cross_entropy(torch.randn(4, 10, device="cuda"), torch.tensor([1, 2, 3, 11]).cuda())
    print(loss.item())


def no_such_device() -> None:
    """A GPU that is not there."""
    torch.zeros(1, device="cuda:9")


def two_devices() -> None:
    """A batch that was left on the CPU."""
    torch.nn.Embedding(100, 8).cuda()(torch.tensor([5]))


def attention_too_long() -> None:
    """Eager attention over a long sequence: one tensor of the scores is larger than the card."""
    queries = torch.randn(8, 16, 32768, 64, device="cuda", dtype=torch.bfloat16)
    torch.softmax(queries @ queries.transpose(-1, -2), -1)


{
    "out-of-memory": out_of_memory, "token-outside": token_outside, "probabilities": probabilities,
    "label-outside": label_outside, "no-such-device": no_such_device, "two-devices": two_devices,
    "attention-too-long": attention_too_long,
}[CASE]()  # fmt: skip
