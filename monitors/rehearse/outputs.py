"""What the loss of a first step does to the outputs of the model, read off the gradient that arrives at them.

The gradient of a cross entropy at the logits of a position is `w * (softmax - onehot(target))`, so that it tells which
token is trained there and how strongly, whoever computes the loss: one entry has one sign and all others the other one.
https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
A distillation, a penalty or a contrastive loss has no such rows, and nothing is said of them.

The hooks are tensors' own and see the first optimizer step only: nothing of the run is another one.
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Mapping
from typing import Any, ClassVar, Optional

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.relations import accumulating, extents, leaks, pairs, ranked, ratios, weights
from doctor.monitors.rehearse.relations.forwards import Forward
from doctor.monitors.rehearse.settings import settings

#: steps that are looked at: batches of other lengths show what a loss is divided by
_STEPS = 2
#: forwards of a step that are looked at, and values of one row's logits beyond which none is
_MOST_FORWARDS, _MOST_VALUES = 16, 1 << 27
#: the entry of the target and the sum of all others cancel, to this share
_CANCELS = 1e-3


class _Seen:
    depth: ClassVar[int] = 0
    steps: ClassVar[int] = 0
    over: ClassVar[bool] = False
    forwards: ClassVar[list[Forward]] = []
    leak: ClassVar[Optional[leaks.Leak]] = None


def attach(module: Any) -> None:
    """Look at the outermost call of every model of Transformers until the first step is made."""
    if not settings().tiny:  # what is kept of a real model's logits is memory that is measured
        return
    owner, base = module.PreTrainedModel, sys.modules["torch"].nn.Module

    @functools.wraps(base.__call__)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        original = base.__call__  # the inventory of a loop puts another one there, and takes it away
        if _Seen.over or _Seen.depth or settings().resume:
            if not _Seen.depth:
                _again(args, kwargs)
            return original(self, *args, **kwargs)
        _Seen.depth += 1
        try:
            output = original(self, *args, **kwargs)
        finally:
            _Seen.depth -= 1
        _called(self, args, kwargs, output)
        return output

    owner.__call__ = call


@journal.shielded
def _called(model: Any, args: Any, kwargs: Mapping[str, Any], output: Any) -> None:
    torch: Any = sys.modules["torch"]
    if len(_Seen.forwards) >= _MOST_FORWARDS or not torch.is_grad_enabled():
        return
    ids = kwargs.get("input_ids", args[0] if args else None)
    told = _first_of(output, "logits", "last_hidden_state")
    if getattr(ids, "ndim", 0) != 2 or told is None or told.ndim != 3 or not told.requires_grad:
        return
    if told.shape[0] != ids.shape[0] or told.shape[1] > ids.shape[1]:
        return
    mask: Any = kwargs.get("attention_mask")
    mask = mask.detach().cpu() if getattr(mask, "shape", None) == ids.shape else None
    causal = type(model).__name__.endswith("ForCausalLM")
    pad, ends = _special(model)
    seen = Forward(ids.detach().cpu(), mask, ids.shape[1] - told.shape[1], causal=causal, pad=pad, ends=ends)
    logits = getattr(output, "logits", None) is told
    if _draws(model):
        ratios.over()
    elif causal:
        ratios.trains(model)
    told.register_hook(functools.partial(_flowed, seen, told.detach() if logits else None))
    _Seen.forwards.append(seen)
    if logits and _Seen.leak is None:
        _Seen.leak = leaks.of_call(model, args, kwargs, seen)


@journal.shielded
def _again(args: Any, kwargs: Mapping[str, Any]) -> None:
    """Note the first rows that a second start trains."""
    ids = kwargs.get("input_ids", args[0] if args else None)
    torch: Any = sys.modules["torch"]
    if settings().resume and torch.is_grad_enabled() and getattr(ids, "ndim", 0) == 2:
        journal.once("first_rows", "first_rows", rows=_digest([ids.tolist()]))


def _special(model: Any) -> tuple[Optional[int], frozenset[int]]:
    """The padding token of a model, and the tokens that end its answers."""
    owners = (getattr(model, "generation_config", None), getattr(model, "config", None))
    pads = [getattr(each, "pad_token_id", None) for each in owners]
    ends = [getattr(each, "eos_token_id", None) for each in owners]
    flat = (one for each in ends for one in (each if isinstance(each, (list, tuple)) else [each]))
    return next((each for each in pads if isinstance(each, int)), None), frozenset(
        each for each in flat if isinstance(each, int)
    )


def _draws(model: Any) -> bool:
    """Whether a forward of this model is another one each time."""
    if not model.training:
        return False
    dropped = getattr(getattr(model, "config", None), "attention_dropout", 0.0)
    return bool(dropped) or any(
        getattr(each, "p", 0.0) and "Dropout" in type(each).__name__ for each in model.modules()
    )


def _first_of(output: Any, *names: str) -> Any:
    return next((value for value in (getattr(output, name, None) for name in names) if value is not None), None)


@journal.shielded
def _flowed(seen: Forward, logits: Any, gradient: Any) -> None:
    """Note what arrived; a row at a time, for the logits of all may be many."""
    if seen.active is not None or _Seen.over:
        return
    if logits is None or gradient[0].numel() > _MOST_VALUES:
        seen.active = (gradient.detach().abs().amax(-1) > 0).cpu()
        return
    torch: Any = sys.modules["torch"]
    found = [_row(torch, row, own) for row, own in zip(gradient.detach(), logits)]  # noqa: B905 - Python 3.9
    seen.active, seen.target, seen.weight = (torch.stack(each).cpu() for each in zip(*found))  # noqa: B905


def _row(torch: Any, gradient: Any, logits: Any) -> tuple[Any, Any, Any]:
    """What the loss does to one row: (active, target, weight), each [positions]."""
    gradient = gradient.float()
    largest, at = gradient.abs().max(-1)
    own = gradient.gather(-1, at[:, None])
    others = gradient.scatter(-1, at[:, None], 0.0)
    cancels = (own[:, 0] + others.sum(-1)).abs() <= _CANCELS * largest
    opposite = (others * own.sign()).amax(-1) <= 0
    hard = (largest > 0) & cancels & opposite
    logits = logits.float()
    chance = (logits.gather(-1, at[:, None])[:, 0] - torch.logsumexp(logits, -1)).exp()
    weight = -own[:, 0] / (1 - chance).clamp(min=1e-6)
    return largest > 0, at.where(hard, torch.full_like(at, -1)), weight.where(hard, torch.zeros_like(weight))


def stepping(backwards: int, parts: Optional[int] = None) -> None:
    """A step is about to be made: tell what was seen, and look no more behind the second one.

    Args:
        backwards: backward passes so far.
        parts: micro-batches that a trainer is to make a step of; None where none drives this process.

    """
    if not _Seen.over:
        _Seen.steps += 1
        _Seen.over = _Seen.steps == _STEPS
        _tell(backwards, parts)
        _Seen.forwards, _Seen.leak = [], None


@journal.shielded
def _tell(backwards: int, parts: Optional[int]) -> None:
    forwards = [each for each in _Seen.forwards if each.active is not None]
    if not forwards:
        return
    leak = _Seen.leak if _Seen.steps == 1 else None
    journal.write(
        "outputs", step=_Seen.steps, generated=ratios.Looked.generated, backwards=backwards,
        forwards=[weights.of_forward(each) for each in forwards],
        groups=weights.of_groups(forwards), leak=None if leak is None else leak.measured(),
        extents=[found for found in map(extents.of_forward, forwards) if found], parts=parts or 1,
        rows=_digest([each.ids.tolist() for each in forwards]), first=_digest([forwards[0].ids.tolist()]),
        divides=accumulating.divides() if parts is None else parts, pairs=pairs.of_forwards(forwards),
        ranked=None if parts is not None else ranked.of_forwards(forwards),
        model_parallel=_model_parallel(),
    )  # fmt: skip


def _digest(rows: Any) -> str:
    """A digest of the tokens of a step, which is another one where the rows are."""
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def _model_parallel() -> bool:
    """Whether processes may share one model: a mesh of several axes, Megatron, or a group of sequence parallelism."""
    torch: Any = sys.modules["torch"]
    meshes = getattr(getattr(torch.distributed, "device_mesh", None), "_mesh_resources", None)
    several = any(getattr(each, "ndim", 1) > 1 for each in getattr(meshes, "mesh_stack", ()) or ())
    state: Any = getattr(sys.modules.get("accelerate.state"), "AcceleratorState", None)
    shared = getattr(state, "_shared_state", None) or {}
    return several or shared.get("parallelism_config") is not None or "megatron.core.parallel_state" in sys.modules
