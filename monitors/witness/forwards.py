"""What the trainer's own forward says of the tokens that it is given anyway.

Where each rank holds a part of the policy, a forward of the witness would wait for the others. So it makes none: a hook
reads, from one forward that all ranks make, the log probabilities of a few tokens of a few rows. It gathers them on the
device and adds no collective; they are read later, where the trainer reads, too.

Row and place are known from `input_ids`, `attention_mask`, `position_ids`, `labels` and `logits_to_keep` alone; what is
not certain is left out, for a wrong row would accuse an engine that is well. TRL from 1.14 on has its model give log
probabilities at the trainer's temperature instead of logits (`add_fused_lm_head`):
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/utils.py

Runs inside the patient: Python 3.9, the patient's own torch.
"""

from __future__ import annotations

import time
from typing import Any, Callable, NamedTuple, Optional, Sequence

from doctor.monitors.guard.shield import shielded
from doctor.monitors.witness.asked import Logps

#: rows that are read of a forward, tokens of each, and the place of the last one among those that count
MOST_ROWS, MOST_TOKENS, LAST_TOKEN = 4, 32, 128

#: tokens of a row that an engine is asked to score; forwards that are looked at in vain before the next round
LONGEST, MOST_FORWARDS = 4096, 8

#: what a forward gets besides text, or in place of ids
_OTHER = ("inputs_embeds", "pixel_values", "input_features", "cu_seq_lens_q", "cu_seqlens_q")


class ForwardRefused(Exception):  # noqa: N818 - no error: this forward says nothing that can be compared
    """What this forward says cannot be told for certain; the message is a reason in a few words."""


class Heard(NamedTuple):
    """Rows of a forward.

    Args:
        step: optimizer steps made when it was.
        rows: token ids, each from the beginning of its sequence on.
        logps: of those ids; None where nothing is known.

    """

    step: int
    rows: list[list[int]]
    logps: list[Logps]


class _Held(NamedTuple):
    """What lies on the device until it is read: all ids of each row, the places gathered, and what they had."""

    step: int
    ids: Any
    mask: Any
    positions: Any
    labels: Any
    places: Any
    logps: Any


class ForwardListener:
    """Hears one forward of a model, once it is told to.

    Args:
        model: gives the module whose forward has the ids and gives logits.
        steps: tells how many optimizer steps are made.
        temperature: that the model's `log_probs` are taken at, where it gives no logits; None: not known.
        vocabulary: how many logits there are where they are whole.
        rotary: whether only the distance of two tokens counts, so that padding in front changes nothing.
        together: whether each rank takes a part of every sequence, so that places must be told by `position_ids`.

    """

    def __init__(
        self, model: Callable[[], Any], steps: Callable[[], int], temperature: Callable[[], Optional[float]],
        vocabulary: int, *, rotary: bool, together: bool,
    ) -> None:  # fmt: skip
        self._model, self._steps, self._temperature = model, steps, temperature
        self._vocabulary, self._rotary, self._together = vocabulary, rotary, together
        self._handle: Any = None
        self._held: Optional[_Held] = None
        self._step = self._left = 0
        self._adapter: Any = None
        #: why the last forward said nothing
        self.reason: Optional[str] = None
        self._spent_s = 0.0

    def listen(self) -> None:
        """Hear the next forward that can be understood, until the optimizer steps."""
        self.stop()
        self._held, self._step, self._left = None, self._steps(), MOST_FORWARDS
        self.reason = "the trainer ran no forward before the next push"
        module = self._model()
        self._adapter = getattr(module, "active_adapter", None)
        self._handle = module.register_forward_hook(self._hook, with_kwargs=True)

    def stop(self) -> None:
        """Take the hook off."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.remove()

    def listen_no_more(self) -> None:
        """Forget what was heard: the engine has other weights by now."""
        self.stop()
        self._held = None

    def unheard(self) -> Optional[str]:
        """Why the last time brought nothing; None where it brought something, or there was none."""
        return self.reason

    def told_s(self) -> float:
        """Seconds within the hook since this was asked last."""
        spent, self._spent_s = self._spent_s, 0.0
        return spent

    def hook_failed(self) -> None:
        """The hook failed and does nothing any more."""
        self.reason = "the hook on the trainer's forward failed"
        self.stop()

    def heard(self) -> Optional[Heard]:
        """What was heard since; None where nothing was. Reads from the device."""
        held, self._held = self._held, None
        if held is None:
            return None
        self.stop()
        found = _read(held, alone_by_distance=self._rotary)
        self.reason = None
        if found is None:
            self.reason = "no row of the trainer's forward begins where its sequence does"
        return found

    @shielded
    def _hook(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        """A forward was made; it stays as it is."""
        import torch

        began = time.monotonic()
        self._left -= 1
        if self._steps() != self._step or self._left <= 0:
            self.stop()
        if self._steps() == self._step and self._held is None:
            try:
                _undisturbed_by_chance(module, self._adapter)
                with torch.no_grad():
                    self._held = self._taken(torch, args, kwargs, output)
                self.stop()
            except ForwardRefused as reason:
                self.reason = str(reason)
        self._spent_s += time.monotonic() - began

    def _taken(self, torch: Any, args: Any, kwargs: Any, output: Any) -> _Held:
        """The tokens of a forward; nothing is read from the device.

        Raises:
            ForwardRefused: it is not certain which ones.

        """
        ids, mask, positions = _inputs(args, kwargs, together=self._together)
        labels, fused = _labels(kwargs, ids), _fused(output)
        if fused is None:
            values, first = _logits(output, kwargs, ids, self._vocabulary)
        else:
            values, first = self._at_temperature_one(fused, kwargs, ids, labels), 0
        count = ids.shape[1] - 1
        valid = torch.ones_like(ids[:, :count], dtype=torch.bool)
        valid[:, :first] = False
        if mask is not None:
            valid &= (mask[:, :-1] == 1) & (mask[:, 1:] == 1)
        if labels is not None and fused is not None:
            valid &= labels != -100
        rank = valid.cumsum(1)
        order = torch.where(valid & (rank <= LAST_TOKEN), rank, torch.zeros_like(rank))
        chosen, places = order.topk(min(MOST_TOKENS, count), dim=1)
        logps = _gathered(values, fused is not None, ids, places, first)
        places = torch.where(chosen > 0, places, torch.full_like(places, -1))
        return _Held(self._step, ids, mask, positions, labels if fused is not None else None, places, logps)

    def _at_temperature_one(self, fused: Any, kwargs: Any, ids: Any, labels: Any) -> Any:
        """Log probabilities that a model gives itself, [rows, tokens] beside the labels that they are of."""
        temperature = kwargs.get("temperature", self._temperature())
        if temperature != 1.0:
            raise ForwardRefused(
                "the temperature of the trainer's log probabilities is not known"
                if temperature is None
                else f"the trainer's forward gives log probabilities at temperature {temperature}, and no logits"
            )
        if labels is None or len(fused.shape) != 2 or fused.shape[1] < ids.shape[1] - 1:
            raise ForwardRefused("the trainer's forward gives log probabilities in a form that is not known")
        return fused[:MOST_ROWS]


def _inputs(args: Sequence[Any], kwargs: Any, *, together: bool) -> tuple[Any, Any, Any]:
    """Ids, mask and positions of the first rows."""
    ids = kwargs.get("input_ids", args[0] if args else None)
    other = next((name for name in _OTHER if kwargs.get(name) is not None), None)
    if other is not None:
        raise ForwardRefused(f"the trainer's forward takes `{other}`")
    if ids is None or len(getattr(ids, "shape", ())) != 2 or ids.is_floating_point() or ids.shape[1] < 2:
        raise ForwardRefused("the trainer's forward takes no rows of ids")
    mask, positions = kwargs.get("attention_mask"), kwargs.get("position_ids")
    for each in (mask, positions):
        if each is not None and getattr(each, "shape", None) != ids.shape:
            raise ForwardRefused("mask or positions of the trainer's forward have a different shape from its ids")
    if together and positions is None:
        raise ForwardRefused("each rank takes a part of every sequence, and the forward does not show which")
    cut = [None if each is None else each[:MOST_ROWS].detach().clone() for each in (ids, mask, positions)]
    return cut[0], cut[1], cut[2]


def _labels(kwargs: Any, ids: Any) -> Any:
    """Of each place but the last the token that is to follow; None where the forward got none."""
    given, shifted = kwargs.get("labels"), kwargs.get("shift_labels")
    if shifted is not None:
        return shifted[: len(ids), : ids.shape[1] - 1].detach().clone()
    return None if given is None else given[: len(ids), 1:].detach().clone()


def _fused(output: Any) -> Any:
    """Log probabilities that the model gives in place of logits."""
    return _part(output, "log_probs", None) if _part(output, "logits", None) is None else None


def _part(output: Any, name: str, otherwise: Any) -> Any:
    """A part of what a forward gives, as an attribute or a key."""
    return output.get(name, otherwise) if isinstance(output, dict) else getattr(output, name, otherwise)


def _logits(output: Any, kwargs: Any, ids: Any, vocabulary: int) -> tuple[Any, int]:
    """Logits of the first rows, and the place of the first of them."""
    logits = _part(output, "logits", output)
    if isinstance(logits, (tuple, list)) and logits:
        logits = logits[0]
    if len(getattr(logits, "shape", ())) != 3:
        raise ForwardRefused("the trainer's forward gives no logits")
    if hasattr(logits, "full_tensor"):
        if not all(each.is_replicate() for each in logits.placements):
            raise ForwardRefused("each rank has a part of the logits only")
        logits = logits.to_local()
    if logits.shape[2] < vocabulary:
        raise ForwardRefused("each rank has a part of the logits only")
    kept = kwargs.get("logits_to_keep", kwargs.get("num_logits_to_keep", 0))
    if not isinstance(kept, int):
        raise ForwardRefused("the trainer's forward returns logits of selected positions only")
    count = min(kept, ids.shape[1]) or ids.shape[1]
    if logits.shape[1] != count:
        raise ForwardRefused("the trainer's forward gives a different number of logits than it has tokens")
    return logits[:MOST_ROWS].detach(), ids.shape[1] - count


def _gathered(values: Any, fused: bool, ids: Any, places: Any, first: int) -> Any:
    """Log probabilities at the places chosen, of the token that follows each."""
    if fused:
        return values.detach().gather(1, places).float()
    wanted = ids.gather(1, places + 1)
    rows = []
    for row, where, tokens in zip(values, places, wanted):  # noqa: B905 - Python 3.9
        scores = row[(where - first).clamp(min=0)].float()
        rows.append(scores.gather(1, tokens.unsqueeze(1)).squeeze(1) - scores.logsumexp(1))
    return rows[0].new_zeros((0,)) if not rows else _stacked(rows)


def _stacked(rows: Sequence[Any]) -> Any:
    import torch

    return torch.stack(list(rows))


def _undisturbed_by_chance(module: Any, adapter: Any) -> None:
    """That this forward is the policy's, and would come out the same again.

    Raises:
        ForwardRefused: something in it is drawn, or it is the model without its adapter or with another one.

    """
    if adapter is not None and getattr(module, "active_adapter", None) != adapter:
        raise ForwardRefused("the trainer's forward ran with another adapter")
    for each in module.modules():
        if getattr(each, "_disable_adapters", False) or getattr(each, "disable_adapters", False) is True:
            raise ForwardRefused("the trainer's forward ran without the adapter")
        if each.training and _draws(each):
            raise ForwardRefused("the trainer's forward drops activations by chance")


def _draws(module: Any) -> bool:
    """Whether a module in training mode draws: dropout, of its own or of its attention, or noise on a router."""
    rates = [module.p] if type(module).__name__.startswith(("Dropout", "AlphaDropout", "FeatureAlpha")) else []
    rates += [getattr(module, name, 0.0) for name in ("attention_dropout", "router_jitter_noise", "jitter_noise")]
    return any(isinstance(each, float) and each > 0.0 for each in rates)


def _read(held: _Held, *, alone_by_distance: bool) -> Optional[Heard]:
    """The rows of a forward, each from the beginning of its sequence to the last token chosen."""
    rows: list[list[int]] = []
    found: list[Logps] = []
    parts = [None if each is None else each.tolist() for each in (held.mask, held.positions, held.labels)]
    for row, (ids, places, values) in enumerate(zip(held.ids.tolist(), held.places.tolist(), held.logps.tolist())):  # noqa: B905
        mask, positions, labels = (None if each is None else each[row] for each in parts)
        starts = _starts(len(ids), mask, positions, alone_by_distance=alone_by_distance)
        told: dict[int, dict[int, float]] = {}
        for place, value in zip(places, values):  # noqa: B905
            start = starts[place] if place >= 0 else None
            if start is None or starts[place + 1] != start or place + 2 - start > LONGEST:
                continue
            if labels is None or labels[place] == ids[place + 1]:
                told.setdefault(start, {})[place + 1] = float(value)
        for start, logps in sorted(told.items()):
            size = max(logps) + 1
            rows.append(ids[start:size])
            found.append([logps.get(at) for at in range(start, size)])
    return Heard(held.step, rows[: 2 * MOST_ROWS], found[: 2 * MOST_ROWS]) if rows else None


def _starts(
    size: int, mask: Optional[Sequence[int]], positions: Optional[Sequence[int]], *, alone_by_distance: bool
) -> list[Optional[int]]:
    """Where the sequence of each token begins; None where that is not known, or it is padding."""
    found: list[Optional[int]] = []
    for at in range(size):
        if mask is not None and mask[at] != 1:
            found.append(None)
        elif (
            at and (mask is None or mask[at - 1] == 1) and (positions is None or positions[at] == positions[at - 1] + 1)
        ):
            found.append(found[-1])
        elif positions is not None:
            found.append(at if positions[at] == 0 else None)
        else:
            found.append(at if not at or (alone_by_distance and _first(mask, at)) else None)
    return found


def _first(mask: Optional[Sequence[int]], at: int) -> bool:
    """Whether all before is padding: a second run of a row would go on with the first one."""
    return mask is not None and not any(mask[:at])
