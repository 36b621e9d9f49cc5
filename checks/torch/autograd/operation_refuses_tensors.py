"""Words of operation-refuses-tensors (TOR052), whose texts stand in the TOML beside it.

Names and sizes of a shape error mean something: two log probabilities whose names differ by a role belong to two
models, and a size of millions beside one of hundreds is a parameter that a sharding engine made flat.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, Message, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
FLAT, TWO_SIDES, SIZES = TOML["flat"], TOML["two_sides"], TOML["tensors_different_sizes"]
_CASES = (
    TOML["matrices_fit_times"], SIZES, TOML["tensor_viewed_shape"], TOML["tensor_become_numpy"],
    TOML["operation_fractions_got"],
)  # fmt: skip

#: elements of the smallest layer that is worth sharding; no sequence, hidden size or vocabulary is as long
LEAST_FLAT = 1_000_000
_SHARDING = later(r"(?i)\bfsdp|\bzero.?3|\bstage.?3|deepspeed|fully_shard")
#: roles by which two tensors of one kind are told apart
_ROLES = (
    "ref",
    "reference",
    "old",
    "teacher",
    "student",
    "policy",
    "actor",
    "rollout",
    "sampling",
    "behavior",
    "target",
)
_OPERATED = later(r"(?P<a>[A-Za-z_][\w.]{2,60})(?:\[[^\]\n]{0,40}\])? ?[-+*/] ?(?P<b>[A-Za-z_][\w.]{2,60})(?![\w(])")


class Sides(NamedTuple):
    """Two tensors of one kind that belong to two models."""

    a: str
    b: str


def explain(hits: Hits) -> Optional[Finding]:
    """By names and sizes where they tell more than the words of the operation."""
    if _CASES[hits.first.signature] is not SIZES:
        return _said(_CASES[hits.first.signature], hits)
    one, two = int(hits.get("one") or 0), int(hits.get("two") or 0)
    if (sides := sides_of(hits.first.code)) is not None:
        return _said(TWO_SIDES, hits, a=sides.a, b=sides.b)
    short, long = sorted((one, two))
    frames = " ".join((*hits.first.frames, hits.context, hits.first.code))
    if long >= LEAST_FLAT and long > 100 * short and (_SHARDING.search(frames) or "optim" in frames):
        return _said(FLAT, hits, short=short, long=long)
    return _said(SIZES, hits)


def sides_of(code: str) -> Optional[Sides]:
    """The operands of a line of code whose names are the same but for a role; None where they are not."""
    for match in _OPERATED.finditer(code):
        a, b = match["a"].rpartition(".")[2], match["b"].rpartition(".")[2]
        parts_a, parts_b = a.lower().split("_"), b.lower().split("_")
        roles = {each for each in (*parts_a, *parts_b) if each in _ROLES}
        rest_a, rest_b = ([each for each in parts if each not in _ROLES] for parts in (parts_a, parts_b))
        if roles and a != b and rest_a == rest_b:
            return Sides(a, b)
    return None


def _said(message: Message, hits: Hits, **values: Any) -> Finding:
    told: dict[str, Any] = {**hits.first.groups, **values}
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, **told)
