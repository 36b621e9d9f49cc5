"""The four sequences that are asked about for the whole run.

Their beginnings are text where a tokenizer is at hand, so that most tokens are likely ones: of unlikely ones even equal
weights give log probabilities far apart in a short precision. Two blocks of vLLM's prefix cache (16 tokens each) at
least, so that a cache has something to keep: https://docs.vllm.ai/en/latest/design/prefix_caching/

Runs inside the patient: Python 3.9, the standard library.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

#: tokens of a beginning, and of the answer behind it
PROMPT_TOKENS, ANSWER_TOKENS = 40, 12

#: the shortest beginning that is worth asking about
LEAST_TOKENS = 4

TEXTS = (
    (
        "Question: A shop sells pens at 3 dollars each. Tom buys 4 pens and pays with a 20 dollar note. How much "
        "change does he get? Let us think step by step. The pens cost 3 * 4 = 12 dollars in total, so the change is"
    ),
    (
        "The following function returns the greatest common divisor of two numbers.\n\ndef gcd(a, b):\n"
        "    while b != 0:\n        a, b = b, a % b\n    return a\n\nIts running time is logarithmic, because"
    ),
    (
        "从前有一座山,山里有一座庙,庙里有一个老和尚和一个小和尚。有一天,小和尚问老和尚:为什么天是蓝色的?老和尚回答"
        "说:因为阳光穿过大气层的时候"
    ),
    (
        "In 1905 Albert Einstein published four papers that changed physics: on the photoelectric effect, on Brownian "
        "motion, on special relativity, and on the equivalence of mass and energy. The first of them"
    ),
)


def beginnings(tokenizer: Any, vocabulary: int, longest: Optional[int] = None) -> list[list[int]]:
    """Ids of the four beginnings, all of one length.

    Args:
        tokenizer: with an `encode`; None: ids are drawn, always the same ones.
        vocabulary: how many ids there are.
        longest: tokens that both sides take, with the answer; None: enough.

    """
    size = PROMPT_TOKENS if longest is None else min(PROMPT_TOKENS, longest - ANSWER_TOKENS - 1)
    if size < LEAST_TOKENS:
        return []
    found = []
    for number, text in enumerate(TEXTS):
        ids = _encoded(tokenizer, text, vocabulary)
        while len(ids) < size:
            ids += _drawn(number, len(ids) + 1, vocabulary)
        found.append(ids[:size])
    return found


def _encoded(tokenizer: Any, text: str, vocabulary: int) -> list[int]:
    if tokenizer is None or not callable(getattr(tokenizer, "encode", None)):
        return []
    try:
        ids: Sequence[int] = tokenizer.encode(text, add_special_tokens=False)
        return [int(each) for each in ids if 0 <= int(each) < vocabulary]
    except Exception:  # noqa: BLE001 - a tokenizer of somebody's own: drawn ids serve as well
        return []


def _drawn(seed: int, size: int, vocabulary: int) -> list[int]:
    """Ids of a generator of its own, so that nobody's random state moves (constants of Numerical Recipes)."""
    state, found = seed * 7919 + 17, []
    for _ in range(size):
        state = (state * 1664525 + 1013904223) % (1 << 32)
        found.append((state >> 8) % vocabulary)
    return found
