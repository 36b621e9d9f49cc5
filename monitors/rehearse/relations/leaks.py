"""Whether a model sees the token that it is trained to predict: the same call with that token changed.

The logits in front of a token do not depend on it under a causal mask. A mask of one's own (of packed rows, of a
prefix) may lack that. The call is made again twice, without gradients, dropout and cache, before the first step; the
random numbers of the run stay what they are.
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
#: an engine that gathers weights for a forward pass is not asked for one in the middle of its step
_ENGINE = "deepspeed.runtime.engine"


class Leak:
    """One call that can be repeated."""

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], seen: Forward) -> None:
        self._model, self._args, self._kwargs, self._seen = weakref.ref(model), args, kwargs, seen

    def measured(self) -> Optional[dict[str, int]]:
        """Rows whose logits change with the token that is trained behind them; None where it cannot be told."""
        torch: Any = sys.modules["torch"]
        model, places = self._model(), self._places()
        if model is None or len(places) < _LEAST_ROWS:
            return None
        modes = [(each, each.training) for each in model.modules()]
        devices = {each.device for each in model.parameters() if each.device.type == "cuda"}
        try:
            with torch.random.fork_rng(devices), torch.no_grad():
                model.eval()
                before = self._logits(model, self._seen.ids, places)
                after = self._logits(model, self._changed(places), places)
        finally:
            for each, mode in modes:
                each.training = mode
        changed = (before - after).abs().amax(-1) > _DIFFERS * before.std(-1)
        return {"rows": len(places), "changed": int(changed.sum())}

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

    def _changed(self, places: list[tuple[int, int]]) -> Any:
        """The tokens, with another one in the place of each that is looked at."""
        ids = self._seen.ids.clone()
        for row, at in places:
            other = ids[row, at]  # a token of the row itself is in the vocabulary
            ids[row, at + 1] = other if other != ids[row, at + 1] else ids[row].max() - (ids[row].max() == other).long()
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
    alone = int(os.environ.get("WORLD_SIZE") or 1) == 1 and not joined and _ENGINE not in sys.modules
    named = type(model).__name__.endswith("ForCausalLM") and type(model).__module__.startswith("transformers.")
    if not alone or not named or any(kwargs.get(name) is not None for name in _UNLIKE) or len(args) > 1:
        return None
    return Leak(model, args, {name: each for name, each in kwargs.items() if name not in _WITHOUT}, seen)
