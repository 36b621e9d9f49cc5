"""Lets half of the completions of a tiny model end, and none of the real one's before its limit.

Random weights never choose the token that ends one.

Without an end every completion is clipped, and where clipped ones are masked the loss and every gradient are 0: a run
that is well would look as if it learned nothing.
"""

from __future__ import annotations

import functools
import random
from typing import Any, Optional

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.relations import extents, ratios
from doctor.monitors.rehearse.settings import settings

_SEED = 7


def attach(module: Any) -> None:
    """Add a logits processor to every generation."""
    original = module.GenerationMixin.generate

    @functools.wraps(original)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        _add(self, args, kwargs)
        ratios.generated(self)
        with journal.phase("generation"):
            result = original(self, *args, **kwargs)
        _answered(args, kwargs, result)
        return result

    module.GenerationMixin.generate = generate


@journal.shielded
def _add(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    ids = _prompts(args, kwargs)
    config = kwargs.get("generation_config") or getattr(model, "generation_config", None)
    if ids is not None:
        extents.generated(ids, kwargs.get("attention_mask"))
    ends = _ends(config, model)
    if ends is None or ids is None or len(args) > 2 or getattr(ids, "ndim", 0) != 2:
        return
    longest = kwargs.get("max_new_tokens") or getattr(config, "max_new_tokens", None) or 16
    given = kwargs.get("logits_processor")
    rows, prompt = ids.shape
    ending = Ending(rows, prompt, int(longest), ends) if settings().tiny else Endless(_all_ends(config, ends))
    kwargs["logits_processor"] = [*(given or []), ending]


@journal.shielded
def _answered(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    extents.answered(_prompts(args, kwargs), kwargs.get("attention_mask"), result)


def _prompts(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return kwargs.get("input_ids", args[0] if args else kwargs.get("inputs"))


def _ends(config: Any, model: Any) -> Optional[int]:
    for owner in (config, getattr(model, "generation_config", None), getattr(model, "config", None)):
        value = getattr(owner, "eos_token_id", None)
        first = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(first, int):
            return first
    return None


def _all_ends(config: Any, first: int) -> list[int]:
    """Ids of all tokens that end a completion."""
    value = getattr(config, "eos_token_id", None)
    return [each for each in value if isinstance(each, int)] if isinstance(value, (list, tuple)) else [first]


class Endless:
    """A logits processor that lets no completion end before the length that the run allows.

    Args:
        ends: ids of the tokens that end one.

    """

    def __init__(self, ends: list[int]) -> None:
        self._ends = ends

    def __call__(self, _input_ids: Any, scores: Any) -> Any:
        """Scores (rows, vocabulary) in which no end can be chosen."""
        scores = scores.clone()
        scores[:, [each for each in self._ends if each < scores.shape[-1]]] = float("-inf")
        return scores


class Ending:
    """A logits processor that chooses the end for every second row, at a length of its own.

    Args:
        rows, prompt: shape of the prompts, in sequences and tokens.
        longest: tokens that a completion has at most.
        end: id of the token that ends one.

    """

    def __init__(self, rows: int, prompt: int, longest: int, end: int) -> None:
        chosen = random.Random(_SEED + rows)  # noqa: S311 - nobody's secret
        self._prompt, self._end = prompt, end
        self._at = [chosen.randrange(2, max(3, longest)) if row % 2 == 0 else -1 for row in range(rows)]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores whose rows that end now allow nothing but the end. Shapes (rows, tokens) and (rows, vocabulary)."""
        now = input_ids.shape[1] - self._prompt
        several = max(1, input_ids.shape[0] // max(1, len(self._at)))
        rows = [row for row in range(input_ids.shape[0]) if self._at[min(row // several, len(self._at) - 1)] == now]
        if rows and self._end < scores.shape[-1]:
            scores = scores.clone()
            scores[rows] = float("-inf")
            scores[rows, self._end] = 0.0
        return scores
