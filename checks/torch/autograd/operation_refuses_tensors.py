"""Words of operation-refuses-tensors (TOR052), whose texts stand in the TOML beside it.

Names and sizes of a shape error mean something: two log probabilities whose names differ by a role belong to two
models, a size of millions beside one of hundreds is a parameter that a sharding engine made flat, a first matrix as
wide as the second was multiplied with it already, and a size that a setting has is that setting. A size that is as many
times the other as there are ranks that split a layer is the whole beside the share of one rank. Where library code
alone stands between the script and the line, the part of the library tells what met: an adapter and its layer, the
heads of an attention, positions of images and ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, Optional

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, Message, Where, found
from doctor.catalogue.shared.numbers import LEAST, meanings, told
from doctor.catalogue.shared.shares import Share, Split, split_by
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.data.libraries import package_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
FLAT, TWO_SIDES, SIZES = TOML["flat"], TOML["two_sides"], TOML["tensors_different_sizes"]
MATRICES, OTHER_SHAPE = TOML["matrices_fit_times"], TOML["another_shape"]
WHOLE = TOML["whole_and_share"]
_CASES = (
    MATRICES, SIZES, TOML["tensor_viewed_shape"], TOML["tensor_become_numpy"],
    TOML["operation_fractions_got"], TOML["another_shape"], TOML["concatenated"],
)  # fmt: skip

ATTENTION = TOML["of_attention"]
#: dimensions of attention's tensors and masks that are lengths, not heads or rows
_LENGTHS = (2, 3)
_SEQUENCE = later(r"(?i)(?:^|\.)(?:use_)?sequence_parallel$")

#: part of a library -> what two tensors of different sizes are there
_PARTS = (
    (later(r"(?i)lora|adapter|[\\/]peft[\\/]"), TOML["of_adapter"]),
    (later(r"(?i)get_rope_index|rope|rotary|position_ids|placeholder|mrope"), TOML["of_positions"]),
    (later(r"(?i)attention|sdpa"), ATTENTION),
)
#: frames of torch, and the call of a module, stand between what calls and what is called
_BETWEEN = later(r"[\\/]torch[\\/]")
#: innermost frames that tell the part
_LOOKED_AT = 2
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
    case = _CASES[hits.first.signature]
    if case is MATRICES and (width := _multiplied_already(hits)) is not None:
        return _said(TOML["multiplied_already"], hits, width=width)
    if case is OTHER_SHAPE:
        return _of_shapes(hits)
    if case is not SIZES:
        return _said(case, hits)
    one, two = int(hits.get("one") or 0), int(hits.get("two") or 0)
    if (sides := sides_of(hits.first.code)) is not None:
        return _said(TWO_SIDES, hits, a=sides.a, b=sides.b)
    short, long = sorted((one, two))
    frames = " ".join((*hits.first.frames, hits.context, hits.first.code))
    if long >= LEAST_FLAT and long > 100 * short and (_SHARDING.search(frames) or "optim" in frames):
        return _said(FLAT, hits, short=short, long=long)
    part = _of_part(hits)
    split = split_by(one, two, hits.config)
    if split is not None and (part is None or (part is ATTENTION and int(hits.get("dim") or 0) in _LENGTHS)):
        return _said(WHOLE, hits, short=short, long=long, **_split(split, hits.config))
    return _said(part or SIZES, hits, part=_part(hits))


def of_share(share: Share, where: Where, evidence: tuple[Observed, ...]) -> Finding:
    """A whole and a share in the words of any exception; asked by `doctor.logs.failures.beside`."""
    return found(
        PROBLEM, WHOLE, where=where, evidence=evidence, confidence=LIKELY, short=share.short, long=share.long,
        **_split(share.split, {}),
    )  # fmt: skip


def of_empty_share(sizes: Sequence[tuple[str, int]], where: Where, evidence: tuple[Observed, ...]) -> Finding:
    """A rank's empty piece of a row; `sizes` are (setting, ranks) that cut rows, then those that align them."""
    return found(
        PROBLEM, TOML["empty_share"], where=where, evidence=evidence, confidence=LIKELY,
        setting=sizes[0][0], size=sizes[0][1], least=prod(size for _, size in sizes),
        product=" * ".join(name.rpartition(".")[2] for name, _ in sizes),
    )  # fmt: skip


def of_elements(
    shapes: tuple[str, str], settings: tuple[str, ...], where: Where, evidence: tuple[Observed, ...]
) -> Finding:
    """Two shapes with the same number of elements; asked by `doctor.logs.failures.beside`."""
    return found(
        PROBLEM, TOML["same_elements"], where=where, evidence=evidence, confidence=LIKELY, one=shapes[0],
        two=shapes[1], settings=", ".join(f"`{each}`" for each in settings),
    )  # fmt: skip


def _split(split: Split, config: Mapping[str, object]) -> dict[str, Any]:
    """What splits, and the switch by which the sequence is split over the same ranks."""
    names = (name for name, value in config.items() if _SEQUENCE.search(name) and str(value).lower() == "true")
    return {"setting": split.setting, "size": split.size, "sequence": next(names, "").rpartition(".")[2]}


def _of_shapes(hits: Hits) -> Finding:
    """Two shapes: one dimension alone that is a whole and a share, or what they are."""
    want, got = ([int(each) for each in (hits.get(name) or "").split(", ")] for name in ("want", "got"))
    unequal = [pair for pair in zip(want, got, strict=False) if pair[0] != pair[1]]
    alone = len(want) == len(got) and len(unequal) == 1
    split = split_by(*unequal[0], hits.config) if alone else None
    if split is None:
        return _said(OTHER_SHAPE, hits)
    short, long = sorted(unequal[0])
    return _said(WHOLE, hits, short=short, long=long, **_split(split, hits.config))


def _multiplied_already(hits: Hits) -> Optional[str]:
    """The columns of both matrices, where they are the same: the first is wide as only the product should be."""
    (rows, width), (inner, other) = ((hits.get(name) or "x").split("x") for name in ("one", "two"))
    return width if width == other and width not in (rows, inner) else None


def _frames_of_libraries(hits: Hits) -> list[str]:
    """The innermost frames but those of torch, where they are a library's, not the user's own."""
    frames = [each for each in hits.first.frames if not _BETWEEN.search(each)][-_LOOKED_AT:]
    return frames if frames and package_of(frames[-1].rpartition(":")[0]) else []


def _of_part(hits: Hits) -> Optional[Message]:
    """What met, by the part of the library that the innermost frames belong to."""
    shown = "\n".join(_frames_of_libraries(hits))
    return next((message for pattern, message in _PARTS if pattern.search(shown)), None) if shown else None


def _part(hits: Hits) -> str:
    """The innermost frame of a library, as its package and function."""
    frames = _frames_of_libraries(hits)
    path, _, function = frames[-1].rpartition(":") if frames else ("", "", "")
    return f"{package_of(path)}, {function}" if frames else ""


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
    groups = hits.first.groups
    numbers = [int(each) for name in ("one", "two") for each in (groups.get(name) or "").split("x") if each.isdigit()]
    known = told(meanings((each for each in numbers if each >= LEAST), hits.config))
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, sizes=known,
        **{**groups, **values},
    )  # fmt: skip
