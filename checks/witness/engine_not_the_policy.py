"""Words for engine-not-the-policy (WIT9046), which stand in the TOML beside it; judged by the witness.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import Any, Optional

from doctor.base.evidence import Observed
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import words_of
from doctor.oracles.logps import GAP_LIMIT
from doctor.oracles.verdict import DOUBTFUL, Verdict
from doctor.oracles.weights import spans

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: who tells it
_SOURCE = "witness"


def differs(step: int, agreement: Verdict, healthy: float) -> Finding:
    """Trainer and engine do not give the same tokens the same log probabilities, and nothing tells why.

    Args:
        step: optimizer steps made.
        agreement: of the fixed sequences.
        healthy: the gap that the engine's precision explains.

    """
    severity = WARNING if agreement.state is DOUBTFUL else ERROR
    return found(
        PROBLEM, TOML["gap"], severity=severity, confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, agreement.reason), Observed.quoted(_SOURCE, figures(agreement))), step=step,
        gap=f"{agreement.value:.2g}", limit=f"{healthy:.2g}",
    )  # fmt: skip


def of_step(step: int, past: int, agreement: Verdict) -> Finding:
    """The engine answers as the trainer did at an earlier step."""
    evidence = (
        Observed.quoted(_SOURCE, agreement.reason),
        Observed.quoted(_SOURCE, f"the engine's scores are those of step {past}"),
    )
    return found(
        PROBLEM, TOML["older"], confidence=LIKELY, where=Where(step=step), evidence=evidence, step=step, past=past
    )


def of_samples(step: int, agreement: Verdict, healthy: float) -> Finding:
    """The values that came with the samples are not the trainer's, and only the batch was seen.

    Args:
        step: optimizer steps made.
        agreement: of the batch.
        healthy: the gap that is none; up to `GAP_LIMIT` hard tokens may make a larger one.

    """
    severity = WARNING if agreement.value <= GAP_LIMIT else ERROR
    return found(
        PROBLEM, TOML["samples"], severity=severity, confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, agreement.reason), Observed.quoted(_SOURCE, figures(agreement))), step=step,
        gap=f"{agreement.value:.2g}", limit=f"{healthy:.2g}",
    )  # fmt: skip


def of_version(step: int, past: int, lag: Verdict) -> Finding:
    """Samples are of earlier weights, by what the engine records with them."""
    return found(
        PROBLEM, TOML["version"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, lag.reason),), step=step, past=past, share=f"{lag.details['share']:.0%}",
    )  # fmt: skip


def other_weights(step: int, weights: Verdict, agreement: Optional[Verdict]) -> Finding:
    """The engine holds other values than the trainer, which were compared one by one."""
    names = weights.details["different"]
    first = names[0].rpartition(".")[0] if names else None
    evidence = [Observed.quoted(_SOURCE, f"differ: {', '.join(names[:8])}")]
    evidence += [Observed.quoted(_SOURCE, figures(agreement))] if agreement is not None else []
    message, values = _of_weights(weights)
    return found(
        PROBLEM, TOML[message], confidence=CONFIRMED, where=Where(step=step, module=first), evidence=tuple(evidence),
        step=step, **values,
    )  # fmt: skip


def _of_weights(weights: Verdict) -> tuple[str, dict[str, Any]]:
    """The message that says most, with what it names."""
    told = weights.details
    if told.get("experts"):
        layer, numbers = next(iter(told["experts"].items()))
        return "experts", {"layer": layer, "experts": spans(numbers)}
    if told.get("stale_layers"):
        count = len(told["stale_layers"])
        return "layers", {"count": count, "layers": told["layers"], "past": told["stale_step"]}
    if told.get("stale"):
        return "tensor_of_step", {"name": told["stale"][0], "past": told["stale_step"]}
    if told.get("whole_layers"):
        numbers = told["whole_layers"]
        return "other_layers", {"count": len(numbers), "layers": told["layers"], "numbers": spans(numbers)}
    bad = round(weights.value * told["compared"])
    return "tensors", {"bad": bad, "compared": told["compared"], "name": told["different"][0]}


def not_as_sent(push: int, weights: Verdict) -> Finding:
    """The model of the engine holds other values than the same process was sent, which were compared one by one.

    Args:
        push: how many pushes have begun by now.
        weights: what was compared; an earlier step of it is an earlier push.

    """
    told, names = weights.details, weights.details["different"]
    message, values = _of_weights(weights)
    message = {"experts": "experts_sent", "layers": "layers_sent"}.get(message, "tensors_sent")
    if message == "tensors_sent":
        bad = round(weights.value * told["compared"])
        values = {"bad": bad, "compared": told["compared"], "name": names[0]}
    return found(
        PROBLEM, TOML[message], confidence=CONFIRMED, where=Where(module=names[0].rpartition(".")[0] or None),
        evidence=(Observed.quoted(_SOURCE, f"differ: {', '.join(names[:8])}"),), push=push, **values,
    )  # fmt: skip


def changed_by_push(step: int, identity: Verdict) -> Finding:
    """The first push of unmodified weights changed what the engine answers."""
    return found(
        PROBLEM, TOML["push"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, identity.reason),), gap=f"{identity.value:.2g}",
    )  # fmt: skip


def changed_by_second_push(step: int, identity: Verdict) -> Finding:
    """A second push of the same weights changed what the engine answers."""
    return found(
        PROBLEM, TOML["push_again"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, identity.reason),), gap=f"{identity.value:.2g}",
    )  # fmt: skip


def not_renewed(step: int, past: int, verdict: Verdict) -> Finding:
    """The engine scores the fixed sequences to the last bit as before updates that have moved the weights."""
    return found(
        PROBLEM, TOML["unmoved"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, verdict.reason),), step=step, past=past, updates=verdict.details["updates"],
    )  # fmt: skip


def figures(agreement: Verdict) -> str:
    """The agreement in one line."""
    told = agreement.details
    parts = [f"mean |d| {agreement.value:.3g}", f"mean exp|d| {told['mean_ratio']:.3g}"]
    parts += [f"{told['share_over_ln2']:.0%} of {told['tokens']} tokens beyond ln 2"]
    parts += [f"{name} {value:.2g}" for name, value in told["classes"].items()]
    return ", ".join(parts)
