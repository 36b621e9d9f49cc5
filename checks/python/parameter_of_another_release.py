"""A function or class is called with an argument that only other releases of its library take.

## What it means
Parameters come, go and become required from release to release. The caller (a script, or another library) was written
for a release whose function takes the argument, or does without one that the installed release wants.
## What it does to a run
`TypeError: ... got an unexpected keyword argument`, or `missing 1 required positional argument`, where it is called.
## What to do
Install the release of the library that fits the caller, or change the call.
## How it is found
In a log: by the function and the argument in the exception, looked up in the signatures of all releases.
## References
https://docs.python.org/3/library/exceptions.html#TypeError
https://docs.python.org/3/whatsnew/3.10.html#better-error-messages
"""

from __future__ import annotations

from doctor.checks.python._api_history import CASES, OWN_MODELS, REQUIRED, asker_of, finding, installed_version, judge
from doctor.core.finding import CONFIRMED, LIKELY, Finding, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature
from doctor.data.api import Known, parameter

PROBLEM = Problem(id="PYT033", name="parameter-of-another-release", severity=ERROR, since="0.1")

#: problems that know more of the same line
_OTHERS = (
    "TRL", "VLL", "DSP", "TRF", "FLA", "TOR", "DAT", "VRL", "ORL", "TRI", "RAY", "BNB", "ACC", "PFT", "HUB", "LCH",
)  # fmt: skip

SIGNATURES = (
    Signature(
        r"^TypeError: (?P<function>[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,2})\(\) got an unexpected keyword argument "
        r"'(?P<name>\w{1,80})'",
        symptom_of=_OTHERS,
    ),
    Signature(
        r"^TypeError: (?P<function>[A-Za-z_]\w{0,80}(?:\.\w{1,80}){0,2})\(\) missing \d{1,2} required "
        r"(?:positional|keyword-only) arguments?: '(?P<name>\w{1,80})'",
        symptom_of=_OTHERS,
    ),
)

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
