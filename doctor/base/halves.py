"""Halves of many nodes by the digits of their numbers: the slower halves spell the slow node."""

from __future__ import annotations

#: nodes from which halves tell more than the pairs do, and bytes that they reduce
LEAST_NODES = 4


def digits_of(nodes: int) -> int:
    """How many binary digits their numbers have; 0 where there are too few for halves."""
    return (nodes - 1).bit_length() if nodes >= LEAST_NODES else 0
