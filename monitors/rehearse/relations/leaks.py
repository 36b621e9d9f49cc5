"""Whether a model sees the token that it is trained to predict: the same call with that token changed.

The logits in front of a token do not depend on it under a causal mask. A mask of one's own (of packed rows, of a
prefix) may lack that. Where places begin anew within a row, texts are packed, and the last one must not depend on what
stands in front of it: https://github.com/huggingface/transformers/pull/39194. The call is made again twice for each,
without gradients, dropout and cache, before the first step; the random numbers of the run stay what they are.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from doctor.monitors.rehearse.relations.forwards import Forward

#: arguments that are not handed on: a loss, a cache
_WITHOUT = ("labels", "past_key_values", "use_cache")
#: arguments of calls that are not repeated: what they are given is no token, or goes on from an earlier call
_UNLIKE = ("inputs_embeds", "past_key_values", "pixel_values", "decoder_input_ids", "cache_position")
#: logits that differ by more than this share of their spread are other ones, whatever the order of sums
_DIFFERS = 1e-2
_LEAST_ROWS = 2
#: the same of a text that must not depend on others at all: the sums are in the same order, and only rounding is left
_APART = 1e-3
#: what a weight has that an engine gathers for each forward pass: it is not asked for one in the middle of its step
_OF_ENGINE = "ds_id"


class Leak:
    """One call that can be repeated."""

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], seen: Forward) -> None:
        self._model, self._args, self._kwargs, self._seen = weakref.ref(model), args, kwargs, seen

    def measured(self) -> Optional[dict[str, int]]:
        """Rows whose logits change with the token that is trained behind them; None where it cannot be told."""
        model, places, packed = self._model(), self._places(), self._packed()
        if model is None or (len(places) < _LEAST_ROWS and not packed):
            return None
        found = {"rows": len(places), "changed": self._differing(model, places, self._following(places))}
        if packed:
            before = [(row, at) for row, _, border in packed for at in range(1, border)]
            found["packed"] = len(packed)
            found["crossed"] = self._differing(
                model, [(row, at) for row, at, _ in packed], self._changed(before), _APART
            )
        return found

    def _differing(self, model: Any, places: list[tuple[int, int]], ids: Any, share: float = _DIFFERS) -> int:
        """How many places have other logits with these tokens."""
        torch: Any = sys.modules["torch"]
        modes = [(each, each.training) for each in model.modules()]
        devices = {each.device for each in model.parameters() if each.device.type == "cuda"}
        try:
            with torch.random.fork_rng(devices), torch.no_grad():
                model.eval()
                before = self._logits(model, self._seen.ids, places)
                after = self._logits(model, ids, places)
        finally:
            for each, mode in modes:
                each.training = mode
        return int(((before - after).abs().amax(-1) > share * before.std(-1)).sum())

    def _places(self) -> list[tuple[int, int]]:
        """(row, place) of the last place in a row where its next token is trained."""
        found = []
        target, first = self._seen.target, self._seen.first
        if target is None:
            return []
        for row, ids in enumerate(self._seen.ids):
            following = ids[first + 1 :]
            fits = (target[row, : len(following)] == following).nonzero()
            if len(fits):
                found.append((row, first + int(fits[-1])))
        return found

    def _packed(self) -> list[tuple[int, int, int]]:
        """(row, place, border) of a trained place behind the last border of a row, where positions begin anew."""
        found: list[tuple[int, int, int]] = []
        positions: Any = self._kwargs.get("position_ids")
        if getattr(positions, "shape", None) != self._seen.ids.shape or self._seen.target is None:
            return []
        for row, own in enumerate(positions.tolist()):
            real = [True] * len(own) if self._seen.mask is None else [bool(each) for each in self._seen.mask[row]]
            borders = [
                at for at in range(1, len(own) - 1) if own[at] == 0 and own[at + 1] == 1 and real[at] and real[at - 1]
            ]
            places = [self._seen.first + each for each in (self._seen.target[row] >= 0).nonzero().flatten().tolist()]
            behind = [each for each in places if borders and each >= borders[-1]]
            if behind:
                found.append((row, behind[-1], borders[-1]))
        return found

    def _following(self, places: list[tuple[int, int]]) -> Any:
        """The tokens, with another one behind each place."""
        return self._changed([(row, at + 1) for row, at in places])

    def _changed(self, places: list[tuple[int, int]]) -> Any:
        """The tokens, with another one in each of these places."""
        ids = self._seen.ids.clone()
        for row, at in places:
            other = ids[row, at - 1]  # a token of the row itself is in the vocabulary
            ids[row, at] = other if other != ids[row, at] else ids[row].max() - (ids[row].max() == other).long()
        return ids

    def _logits(self, model: Any, ids: Any, places: list[tuple[int, int]]) -> Any:
        """Those of the places, [places, vocabulary]."""
        given = {**self._kwargs, "use_cache": False}
        device = next(model.parameters()).device
        if self._args:
            output = model(ids.to(device), *self._args[1:], **given)
        else:
            output = model(**{**given, "input_ids": ids.to(device)})
        rows, at = (list(each) for each in zip(*places))  # noqa: B905 - Python 3.9
        return output.logits[rows, [each - self._seen.first for each in at]].float().cpu()


def of_call(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], seen: Forward) -> Optional[Leak]:
    """The call, where it can be repeated: of a causal model of Transformers as a whole, in a run of one process."""
    distributed: Any = sys.modules.get("torch.distributed")
    joined = distributed is not None and distributed.is_available() and distributed.is_initialized()
    alone = int(os.environ.get("WORLD_SIZE") or 1) == 1 and not joined
    alone = alone and not any(hasattr(each, _OF_ENGINE) for each in model.parameters())
    named = type(model).__name__.endswith("ForCausalLM") and type(model).__module__.startswith("transformers.")
    if not alone or not named or any(kwargs.get(name) is not None for name in _UNLIKE) or len(args) > 1:
        return None
    return Leak(model, args, {name: each for name, each in kwargs.items() if name not in _WITHOUT}, seen)
