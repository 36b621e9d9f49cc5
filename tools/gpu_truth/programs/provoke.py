"""Holds a GPU in one state: provoke.py spinning|steady SECONDS; provoke.py fragmented 0 dies of scattered memory."""

from __future__ import annotations

import sys
import time

import torch

CASE, SECONDS = sys.argv[1], float(sys.argv[2])
MIB = 1 << 20


def fragment() -> None:
    """Fill the card with blocks of 16 and 8 MiB, free the small ones, ask for what only all holes together hold."""
    free, _ = torch.cuda.mem_get_info()
    kept, freed = [], []
    for _ in range(int(0.95 * free) // (24 * MIB)):
        kept.append(torch.empty(16 * MIB, dtype=torch.uint8, device="cuda"))
        freed.append(torch.empty(8 * MIB, dtype=torch.uint8, device="cuda"))
    freed.clear()
    torch.empty(int(0.2 * free), dtype=torch.uint8, device="cuda")


def hold() -> None:
    """One SM that spins, or products on all of them."""
    left = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for _ in range(20):
            torch.cuda._sleep(10**7) if CASE == "spinning" else left @ left
        torch.cuda.synchronize()


fragment() if CASE == "fragmented" else hold()
