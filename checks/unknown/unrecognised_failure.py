"""Judges unrecognised-failure (UNK001), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.base.patterns import later
from doctor.base.ranks import ranks_text
from doctor.catalogue.finding import LIKELY, Finding, Phrase, found, joined
from doctor.catalogue.shared.numbers import told
from doctor.catalogue.unrecognised import Unknown
from doctor.catalogue.words import words_of
from doctor.checks.unknown._advice import advice_of
from doctor.checks.unknown._kinds import (
    ARGUMENT,
    COLLECTIVE,
    CUDA,
    DEFINITION,
    ENDPOINT,
    FILES,
    IMPORT,
    MEMORY,
    NETWORK,
    NOTHING,
    REFUSED,
    SLIP,
    UNMADE,
    Kind,
    kind_of,
)

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE, REPEATED = TOML["main"], TOML["repeated"]


#: kinds that a library's own release brings and another one mends
_OF_RELEASES = (ARGUMENT, NOTHING, DEFINITION)
#: kinds that no text of a model brings about: a function that catches them gives the same wrong score to everything
_OF_SURROUNDINGS = (NETWORK, REFUSED, FILES, ENDPOINT, IMPORT, UNMADE)
#: packages through which everything is called
_BELOW = ("torch", "pydantic", "click", "hydra", "typer", "fire", "IPython", "uvicorn", "starlette", "fastapi")

#: functions of one's own that score completions
_SCORING = later(r"\((?P<name>\w{0,60}(?:reward|score|grade|judge|verif)\w{0,60})\)$")


def answer(unknown: Unknown) -> Finding | None:
    """Say what is known of an exception that no signature knows."""
    if unknown.kind == "repeated":
        return found(
            PROBLEM, REPEATED, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY, count=unknown.count,
            who=unknown.process or TOML.phrase("run"),
        )  # fmt: skip
    if unknown.kind != "exception":
        return None
    own = bool(unknown.own) and unknown.own[0] == unknown.raised_in
    kind = kind_of(unknown.type, own_code=own, message=unknown.message, worded=unknown.worded, place=unknown.raised_in)
    kind = SLIP if unknown.of_itself and kind is ARGUMENT else kind
    general = kind in (CUDA, MEMORY)  # these messages name the same switches whatever went wrong
    advice = [] if general else advice_of(unknown.type, f"{unknown.message}\n{unknown.worded}")
    scoring = next((found_ for each in unknown.own if (found_ := _SCORING.search(each))), None)
    if scoring and not general:
        advice.append(TOML.phrase("served" if kind in _OF_SURROUNDINGS else "scored", name=scoring["name"]))
    elif unknown.library and kind in _OF_RELEASES and not own:
        callers = [f"`{each}`" for each in unknown.callers if each not in _BELOW]
        advice.append(TOML.phrase("release", library=unknown.library, callers=joined(callers, " or ", "、")))
    if unknown.instead:  # https://docs.python.org/3/reference/simple_stmts.html#the-raise-statement
        advice.insert(0, TOML.phrase("instead"))
    return found(
        PROBLEM, MESSAGE, where=unknown.where, evidence=unknown.evidence, confidence=LIKELY,
        type=unknown.type, who=unknown.process or TOML.phrase("run"),
        place=f"`{unknown.raised_in}`" if unknown.raised_in else TOML.phrase("unseen"),
        what=kind.what, first=kind.first, advice=joined(advice), collect=joined(_collect(unknown, kind)),
        **_details(unknown),
    )  # fmt: skip


def _details(unknown: Unknown) -> dict[str, Any]:
    """Frames, library and ranks; empty where there is nothing to say."""
    return {
        "own": ", ".join(f"`{each}`" for each in unknown.own),
        "names": ", ".join(f"`{each}`" for each in unknown.names),
        "library": f"`{unknown.library}` {unknown.library_version}".strip() if unknown.library else "",
        "others": TOML.phrase("others", ranks=ranks_text(unknown.others)) if unknown.others else "",
        "said": unknown.said,
        "none": f"`{unknown.subject}`" if unknown.subject and "NoneType" in unknown.message[:40] else "",
        "sizes": told(unknown.sizes),
    }


def _collect(unknown: Unknown, kind: Kind) -> Iterator[Phrase]:
    """What to gather for the next attempt, and why this one shows too little."""
    if unknown.begins:
        yield TOML.phrase("cut_off", names=", ".join(f"`doctor explain {each}`" for each in unknown.begins))
    yield TOML.phrase("facts")
    if kind in (CUDA, NETWORK, COLLECTIVE) or unknown.others:
        yield TOML.phrase("ranks")
    if unknown.folded:
        yield TOML.phrase("folded")
    if not unknown.raised_in:
        yield TOML.phrase("traceback")
