"""Words for trained-tokens-not-sampled (WIT2184), which stand in the TOML beside it; judged by the witness.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import Any, Callable

from doctor.base.evidence import Observed
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.oracles.verdict import Verdict

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: who tells it
_SOURCE = "witness"


def explain(_hits: Hits) -> Finding:
    """What veRL says of its own comparison, in which white space counts, too."""
    return found(PROBLEM, TOML["verl"], severity=WARNING, confidence=LIKELY)


def other_sequence(step: int, verdict: Verdict, names: Callable[[int], str]) -> Finding:
    """A trained sequence is none of the engine's; `names` shows a token."""
    told = verdict.details
    message = next((each for each in ("dropped", "added") if told.get(each)), "sequence")
    sides = [f"{side}: {' '.join(map(names, told[side]))}" for side in ("engine", "trainer")]
    evidence = (Observed.quoted(_SOURCE, verdict.reason), Observed.quoted(_SOURCE, f"from there on {', '.join(sides)}"))
    return found(
        PROBLEM, TOML[message], confidence=CONFIRMED, where=Where(step=step), evidence=evidence, step=step,
        count=int(verdict.value), at=told["at"], tokens=" ".join(map(names, told.get(message, ()))),
    )  # fmt: skip


def without_separator(step: int, verdict: Verdict, names: Callable[[int], str]) -> Finding:
    """Behind the sampled turns is missing what the template puts there, on both sides."""
    told = verdict.details
    return found(
        PROBLEM, TOML["separator"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, verdict.reason),), step=step, count=told["turns"],
        token=names(told["dropped"]), end=names(told["end"]),
    )  # fmt: skip


def masked_wrongly(step: int, verdict: Verdict) -> Finding:
    """The loss counts tokens that the policy did not sample."""
    return found(
        PROBLEM, TOML["mask"], confidence=CONFIRMED, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, verdict.reason),), step=step, count=int(verdict.value),
    )  # fmt: skip


def of_record(strange: int, trained: int, source: str) -> Finding:
    """The same of a record of what was trained on, to which the engine's own log probabilities belong."""
    text = f"{strange} of {trained} trained tokens have no log probability of the engine"
    return found(
        PROBLEM, TOML["record"], confidence=LIKELY, where=Where(file=source),
        evidence=(Observed.quoted(source, text),), count=strange, share=f"{strange / trained:.0%}",
    )  # fmt: skip


def of_place(step: int, verdict: Verdict) -> Finding:
    """Log probabilities of a batch differ by class or position while fixed sequences agree."""
    told = verdict.details
    worst = max(told["classes"], key=lambda name: float(told["classes"][name]), default="")
    values: dict[str, Any] = {"gap": f"{verdict.value:.2g}"}
    message = "batch"
    if told.get("grows"):
        message, values = "position", {"first": f"{told['buckets'][0]:.2g}", "last": f"{told['buckets'][-1]:.2g}"}
    elif len(told["classes"]) > 1 and told["classes"][worst] > 2 * verdict.value:
        values = {"gap": f"{told['classes'][worst]:.2g}", "kind": worst, "all": f"{verdict.value:.2g}"}
        message = "token_class"
    return found(
        PROBLEM, TOML[message], severity=WARNING, confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, verdict.reason),), step=step, **values,
    )  # fmt: skip


def one_place_apart(step: int, verdict: Verdict) -> Finding:
    """Ids and log probabilities of a batch were joined with an offset."""
    return found(
        PROBLEM, TOML["shifted"], confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(_SOURCE, verdict.reason),), step=step, offset=f"{-int(verdict.value):+d}",
        gap=f"{verdict.details['in_place']:.2g}",
    )  # fmt: skip
