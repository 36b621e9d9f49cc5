"""Weights of an engine behind an address against the trainer's: by values that it names, or by its digests.

SGLang gives the first rows of a weight under a checkpoint's name; vLLM's weight checker digests each tensor as it holds
it, fused ones whole. A digest can only be equal or not, so what is compared there are whole tensors of the engine.
https://docs.vllm.ai/en/latest/training/weight_checker/

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping, Optional, Sequence

from doctor.monitors.witness.asked import CannotAsk, Engine
from doctor.oracles.layouts import FUSED, canonical, is_adapter, layer_of
from doctor.oracles.verdict import BROKEN, HOLDS, Verdict, unseen
from doctor.oracles.weights import SAMPLED, Checksum, rounded, same, whole_layers

#: tensors that are asked for one by one, and names listed
MOST_ASKED, _LISTED = 60, 12

_WHOLE_EXPERTS = re.compile(r"(.*\.experts)\.(w13|w2)_weight")
_EXPERT = re.compile(r"\.experts\.(\d+)\.")


def compared_remotely(
    engine: Engine,
    trainer: Mapping[str, Any],
    past: Mapping[int, Mapping[str, Checksum]],
    digest: Optional[Callable[[Sequence[Any]], str]],
) -> Verdict:
    """Whether an engine behind an address holds the trained weights.

    Args:
        engine: to ask.
        trainer: name -> tensor, or of a weight that ranks share out the part that it begins with.
        past: step -> checksums of the trainer then; unused where only digests are told.
        digest: of tensors one behind the other; None: no tensor is there whole, and digests are not asked for.

    Raises:
        CannotAsk: it tells neither values nor digests.

    """
    weights = {canonical(name): (name, each) for name, each in trainer.items() if not is_adapter(name)}
    try:
        return _by_values(engine, weights, past)
    except CannotAsk:
        if digest is None:
            raise
        return _by_digests(engine.digests(), weights, digest)


def _spread(names: Sequence[str]) -> list[str]:
    """At most so many names, evenly over all of them."""
    count = min(len(names), MOST_ASKED)
    return [names[at * len(names) // count] for at in range(count)]


def _by_values(
    engine: Engine, weights: Mapping[str, tuple[str, Any]], past: Mapping[int, Mapping[str, Checksum]]
) -> Verdict:
    """The first row of each weight; an engine that names none raises at the first."""
    different: list[str] = []
    compared: list[str] = []
    stale: dict[str, Optional[int]] = {}
    moved: dict[int, set[int]] = {}
    unknown: list[str] = []
    precision = engine.precision or "bfloat16"
    for name in _spread(sorted(weights)):
        full, tensor = weights[name]
        try:
            held = _flat(engine.values(full, 1))[:SAMPLED]
        except CannotAsk:
            if not compared and len(unknown) > 1:
                raise
            unknown.append(name)
            continue
        mine = _first(tensor, len(held))
        compared.append(name)
        if not same(mine, held, precision):
            different.append(name)
            stale[name] = _step_of(name, held, past, precision)
            number = _EXPERT.search(name)
            if number is not None and _of_another_expert(name, number, held, weights, precision):
                moved.setdefault(layer_of(name) or 0, set()).add(int(number.group(1)))
    if not compared:
        raise CannotAsk("it names no weight")
    experts = {layer: sorted(numbers) for layer, numbers in sorted(moved.items())}
    return _verdict(different, compared, unknown, stale, precision, experts)


def _of_another_expert(
    name: str, number: re.Match[str], held: Sequence[float], weights: Mapping[str, tuple[str, Any]], precision: str
) -> bool:
    """Whether an expert's place holds the values of another expert of its layer."""
    before, behind = name[: number.start(1)], name[number.end(1) :]
    others = (each for each in weights if each != name and each.startswith(before) and each.endswith(behind))
    return any(same(_first(weights[each][1], len(held)), held, precision) for each in others)


def _first(tensor: Any, count: int) -> list[float]:
    return [float(each) for each in tensor.detach().reshape(-1)[:count].tolist()]


def _step_of(
    name: str, held: Sequence[float], past: Mapping[int, Mapping[str, Checksum]], precision: str
) -> Optional[int]:
    """The step whose first value the engine holds: checksums are spread over the tensor and share only that one."""
    for step in sorted(past):
        kept = past[step].get(name)
        if kept is not None and rounded(kept.values[0], precision) == rounded(held[0], precision):
            return step
    return None


def _flat(values: Any) -> list[float]:
    if isinstance(values, (list, tuple)):
        return [each for part in values for each in _flat(part)]
    return [float(values)]


def _by_digests(told: Mapping[str, str], weights: Mapping[str, tuple[str, Any]], digest: Callable[..., str]) -> Verdict:
    """Whole tensors of the engine, in its precision: that of those whose digest one of them has."""
    import torch

    different: list[str] = []
    compared: list[str] = []
    unknown: list[str] = []
    precisions = (torch.bfloat16, torch.float16, torch.float32)
    known: Optional[Any] = None
    for full, held in told.items():
        parts = _parts_of(canonical(full), weights)
        if not parts:
            unknown.append(full)
            continue
        tensors = [weights[each][1].detach() for each in parts]
        fits = [
            each
            for each in ([known] if known is not None else precisions)
            if digest([part.to(each) for part in tensors]) == held
        ]
        known = known or next(iter(fits), None)
        compared += parts
        different += [] if fits else parts
    if known is None:
        return unseen("compare-weights", "no digest of the engine is that of a tensor of the trainer")
    name = str(known).rpartition(".")[2]
    return _verdict(different, compared, unknown, {}, name)


def _parts_of(name: str, weights: Mapping[str, Any]) -> list[str]:
    """Names of the trainer's tensors that make up one of the engine's."""
    if name in weights:
        return [name]
    fused_experts = _WHOLE_EXPERTS.fullmatch(name)
    if fused_experts is not None:
        return _experts_of(fused_experts.group(1), fused_experts.group(2), weights)
    for fused, parts in FUSED.items():
        names = [name.replace(f".{fused}.", f".{part}.") for part in parts]
        if f".{fused}." in name and all(each in weights for each in names):
            return names
    return []


def _experts_of(root: str, fused: str, weights: Mapping[str, Any]) -> list[str]:
    """Names of the matrices of all experts of a layer, in the order of the engine's bytes."""
    halves = ("gate_proj", "up_proj") if fused == "w13" else ("down_proj",)
    found: list[str] = []
    number = 0
    while all(f"{root}.{number}.{half}.weight" in weights for half in halves):
        found += [f"{root}.{number}.{half}.weight" for half in halves]
        number += 1
    return found


def _verdict(
    different: Sequence[str],
    compared: Sequence[str],
    unknown: Sequence[str],
    stale: Mapping[str, Optional[int]],
    precision: str,
    experts: Optional[Mapping[int, list[int]]] = None,
) -> Verdict:
    layers = {layer for each in compared if (layer := layer_of(each)) is not None}
    details: dict[str, Any] = {
        "compared": len(compared), "different": list(different[:_LISTED]), "layers": len(layers),
        "unknown": list(unknown[:_LISTED]), "precision": precision, "experts": experts or {}, "stale": [],
        "stale_layers": [], "stale_step": None, "whole_layers": whole_layers(different, compared),
    }  # fmt: skip
    if not different:
        return Verdict("compare-weights", HOLDS, 0.0, 0.0, f"{len(compared)} tensors are those of the trainer", details)
    steps = [each for each in stale.values() if each is not None]
    if steps:
        step = max(set(steps), key=steps.count)
        names = [name for name in different if stale.get(name) == step]
        details.update(
            stale_step=step, stale=names[:_LISTED],
            stale_layers=sorted({layer for each in names if (layer := layer_of(each)) is not None}),
        )  # fmt: skip
    value = len(different) / len(compared)
    reason = f"{len(different)} of {len(compared)} tensors differ, the first is `{different[0]}`"
    return Verdict("compare-weights", BROKEN, value, 0.0, reason, details)
