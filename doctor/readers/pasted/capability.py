"""Compute capability by product name, as https://developer.nvidia.com/cuda-gpus lists it (and its legacy page)."""

from __future__ import annotations

import re

#: the first pattern that matches decides: names of new families hold those of old ones ("RTX 6000 Ada", "RTX 6000")
_FAMILIES: tuple[tuple[str, tuple[int, int]], ...] = (
    (r"\bG?B300\b", (10, 3)),
    (r"\b(?:GB200|B200|B100)\b", (10, 0)),
    (r"\bGB10\b", (12, 1)),
    (r"\bRTX PRO \d{4}\b.*\bBlackwell\b|\bRTX 50[5-9]0", (12, 0)),
    (r"\b(?:GH200|H100|H200|H800|H20)\b", (9, 0)),
    (r"\bRTX \d{4}(?: SFF)? Ada\b|\bL(?:4|20|40|40S|40G)\b|\bRTX 40[5-9]0", (8, 9)),
    (r"\b(?:A100|A100X|A800|A30|A30X)\b", (8, 0)),
    (r"\bRTX A\d{3,4}\b|\b(?:A2|A10|A10G|A10M|A16|A40)\b|\bRTX 30[5-9]0|\bRTX 2050", (8, 6)),
    (r"\bT4G?\b|\bRTX 20[678]0|\bGTX 16[356]0|\bTITAN RTX\b|\bQuadro RTX \d{4}\b", (7, 5)),
    (r"\bT(?:400|500|600|1000|1200|2000)\b", (7, 5)),
    (r"\bV100|\bTITAN V\b|\bQuadro GV100\b", (7, 0)),
    (r"\bP100\b|\bQuadro GP100\b", (6, 0)),
    (r"\bGTX 10[5-8]0|(?<!GTX )\bTITAN Xp?\b|\bTesla P(?:4|6|40)\b|\bP40\b|\bQuadro P\d{3,4}\b", (6, 1)),
    (r"\bGTX 9[5-8]0|\bGTX TITAN X\b|\bTesla M(?:4|6|40|60)\b|\bM60\b", (5, 2)),
    (r"\bK80\b", (3, 7)),
)  # fmt: skip


def capability(name: str) -> tuple[int, int] | None:
    """Compute capability of a card by its product name; None for names that the table does not know."""
    for pattern, value in _FAMILIES:
        if re.search(pattern, name, re.IGNORECASE):
            return value
    return None
