"""Judges PYT5808/parameter, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.python._api_history import CASES, OWN_MODELS, REQUIRED, asker_of, finding, installed_version, judge
from doctor.data.api import Known, distribution, parameter

TOML = words_of(__name__)
PROBLEM = TOML.problem


#: a bare function of a shorter name may well be the user's own
_TELLING_LENGTH = 12

#: where the name of a base class may begin in that of a subclass
_CAPITAL = later(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: torch's module hands on what its caller passes
_MODULE = later(r"[\\/]torch[\\/](?:nn[\\/]modules[\\/]module|_dynamo[\\/]eval_frame)\.py:")
OVERRIDDEN, REFUSED = TOML["overridden"], TOML["refused"]
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
    shown = f"{function}({wanted}=)"
    if required:
        return _required(hits, known, shown) if known is not None else None
    if known is not None:
        return finding(PROBLEM, hits, known, shown, certain="." in function)
    return _of_base(hits, function, wanted) or _refused(hits, function, wanted)


def _of_base(hits: Hits, function: str, wanted: str) -> Finding | None:
    """What the history of the class says after which a subclass is named, as `AxolotlGRPOConfig` after `GRPOConfig`."""
    owner, _, method = function.rpartition(".")
    for start in _CAPITAL.finditer(owner, 1):
        base = owner[start.start() :]
        known = _only(parameter(f"{base}.{method}", wanted))
        if known is None:
            continue
        said = finding(PROBLEM, hits, known, f"{base}.{method}({wanted}=)", certain=False)
        return said or _overridden(hits, known, f"{base}.{method}", function, wanted)
    return None


def _overridden(hits: Hits, known: Known, base: str, function: str, wanted: str) -> Finding | None:
    """The library itself passes what its own method takes, and a method in its place does not."""
    if asker_of(hits.first.frames) != known.package:
        return None
    installed = installed_version(hits.versions, known.library)
    position = known.position(installed) if installed else len(known.versions) - 1
    low = next((low for low, high in known.spans if position is not None and low <= position <= high), 0)
    if not low:
        return None
    return found(
        PROBLEM, OVERRIDDEN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, function=function,
        base=base, name=wanted, library=known.library, came=known.versions[low], last=known.versions[low - 1],
        version=f" {installed}" if installed else "",
    )  # fmt: skip


def _refused(hits: Hits, function: str, wanted: str) -> Finding | None:
    """No history tells of it: who passes it to whom is all that is known, and that is half of the answer."""
    asker = asker_of([each for each in hits.first.frames if not _MODULE.search(each)])
    if "." not in function or asker is None:
        return None
    owner, _, method = function.rpartition(".")
    library = distribution(asker).replace("_", "-") if asker else ""
    installed = installed_version(hits.versions, library) if library else None
    return found(
        PROBLEM, REFUSED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, function=function,
        owner=owner, method=method, name=wanted, asker=library, version=f" {installed}" if installed else "",
    )  # fmt: skip


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
