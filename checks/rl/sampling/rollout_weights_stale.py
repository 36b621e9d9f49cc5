"""Judges rollout-weights-stale (RLX021), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, Where, found
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
OVERWRITTEN = TOML["overwritten"]
NOT_PUSHED = TOML["not_pushed"]


def overwritten(step: int, names: tuple[str, ...], compared: int) -> Finding:
    """Weights that the engine holds with other values than were pushed: `names` of `compared`."""
    evidence = Observed.quoted("guard", f"differ from what was pushed: {', '.join(names[:8])}")
    where = Where(step=step, module=names[0].rpartition(".")[0])
    return found(PROBLEM, OVERWRITTEN, where=where, evidence=(evidence,), step=step, bad=len(names), all=compared)


def not_pushed(step: int, pushed: int, unmoved: tuple[str, ...] = ()) -> Finding:
    """A generation at `step` with the weights of `pushed`, the last push, or the start where there was none.

    Args:
        step: of the generation.
        pushed: of the weights.
        unmoved: weights that have moved in the trainer and not in the engine, where nothing was ever pushed.

    """
    text = f"last load_weights at step {pushed}, generate at step {step}"
    if unmoved:
        text = f"no load_weights until step {step}; moved in the trainer, not in vLLM: {', '.join(unmoved[:8])}"
    where = Where(step=step)
    return found(PROBLEM, NOT_PUSHED, where=where, evidence=(Observed.quoted("guard", text),), step=step, pushed=pushed)
