"""Judges PYT5808/parameter, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python._api_history import CASES, OWN_MODELS, REQUIRED, asker_of, finding, installed_version, judge
from doctor.data.api import Known, parameter

TOML = words_of(__name__)
PROBLEM = TOML.problem


#: a bare function of a shorter name may well be the user's own
_TELLING_LENGTH = 12

MESSAGES = CASES


def explain(hits: Hits) -> Finding | None:
    """Tell what the history of the function says, where one library alone has a function of this name."""
    function, wanted = hits.first.groups["function"], hits.first.groups["name"]
    if asker_of(hits.first.frames) in OWN_MODELS:
        return None
    if "." not in function and len(function) < _TELLING_LENGTH:
        return None
    required = hits.first.signature == 1
    known = _only(parameter(function, wanted, required=required))
    if known is None:
        return None
    certain = "." in function
    shown = f"{function}({wanted}=)"
    return _required(hits, known, shown) if required else finding(PROBLEM, hits, known, shown, certain=certain)


def _only(histories: list[Known]) -> Known | None:
    """The history, where all that have a function of this name tell the same."""
    return histories[0] if histories and len({(each.package, each.spans) for each in histories}) == 1 else None


def _required(hits: Hits, known: Known, shown: str) -> Finding | None:
    """The installed release is one of those that want the argument given."""
    installed = installed_version(hits.versions, known.library)
    position = known.position(installed) if installed else None
    if position is None:
        first = known.spans[0][0] if len(known.spans) == 1 else 0
    else:
        first = next((low for low, high in known.spans if low <= position <= high), 0)
    before = judge(known, known.versions[first - 1]) if first else None
    if before is None or not before.came:
        return None
    return found(
        PROBLEM, REQUIRED, where=hits.where(), evidence=hits.evidence(), name=shown, library=known.library,
        confidence=CONFIRMED if position is not None and "." in shown else LIKELY, came=before.came,
        version=f" {installed}" if installed else "",
    )  # fmt: skip
