"""What the history of a library's names tells of one that was not found: which releases have it, who is too old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from doctor.base.patterns import later
from doctor.base.record import record
from doctor.catalogue.finding import CONFIRMED, LIKELY, Confidence, Finding, found
from doctor.catalogue.problem import Problem
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.data.api import Known, asks, distribution, moved_in
from doctor.data.libraries import package_of

TOML = words_of(__name__)


#: case -> words; each problem that uses them declares them as its own
CASES = {name.replace("_", "-"): message for name, message in TOML.messages.items()}
REQUIRED = TOML["required"]

#: packages with model classes of their own under the names that Transformers gives them
OWN_MODELS = frozenset({"vllm", "sglang", "lmdeploy", "megatron", "mbridge", "liger_kernel"})

Kind = Literal["gone", "new", "between", "gap"]

_MACHINERY = later(r"<frozen |[\\/]importlib[\\/]|:__getattr__$|:_attr_getter$|:wrapper$")


@record
class NameStanding:
    """How an installed release stands to those that have a name.

    Args:
        kind: it is gone there; has yet to come; the installed release is not known and both may be ("between"); it is
            gone and came back later, so that both may be meant ("gap").
        last, gone, came: last release with it, first without it, first with it (again); "" where there is none.
        sure: the installed release is known to the data.

    """

    kind: Kind
    last: str = ""
    gone: str = ""
    came: str = ""
    sure: bool = False

    @property
    def range(self) -> str:
        """Specifier of the releases that have it."""
        low = f">={self.came}" if self.came else ""
        if self.kind == "gap":
            return low
        return f"{low},<{self.gone}" if low and self.gone else low or f"<{self.gone}"


def judge(known: Known, installed: str | None, *, proven: bool = True) -> NameStanding | None:
    """Judge a history against an installed release; None where that release should have the name.

    `proven`: an exception says that the name is not there; else a release that was not read must lie between two that
    both lack it.
    """
    near = known.neighbours(installed) if installed else None
    if installed is None or near is None:
        return _unknown_release(known) if proven else None
    absent = [each for each in near if each < 0 or not known.there(each)]
    if not absent or (not proven and (len(absent) < len(near) or near[0] < 0)):
        return None
    position = known.position(installed)
    position = position if position in absent else absent[0]
    if position is None or (position < 0 and known.there(0)):
        return None
    before, after = known.last_before(position), known.first_after(position)
    sure = len(near) == 1
    if before is not None and after is not None and not known.member:
        return _gap(known, before, after, sure)
    if before is not None:
        return _verdict("gone", known, before, sure)
    return _verdict("new", known, after, sure) if after is not None else None


def _unknown_release(known: Known) -> NameStanding | None:
    """One row of releases without the name tells what must be installed; with two of them it is either."""
    starts = [0, *(last + 1 for _, last in known.spans)]
    ends = [*(first for first, _ in known.spans), len(known.versions)]
    gaps = [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
    if len(gaps) == 1:
        start, end = gaps[0]
        if start > 0 and end < len(known.versions) and not known.member:
            return _gap(known, start - 1, end, sure=False)
        return _verdict("gone", known, start - 1, sure=False) if start else _verdict("new", known, end, sure=False)
    return _verdict("between", known, gaps[0][1], sure=False) if len(gaps) == 2 else None


def _gap(known: Known, before: int, after: int, sure: bool) -> NameStanding:
    return NameStanding("gap", known.versions[before], _boundary(known, before + 1), _boundary(known, after), sure)


def _verdict(kind: Kind, known: Known, position: int, sure: bool) -> NameStanding:
    """Words for the span of releases around a position."""
    first, last = next(span for span in known.spans if span[0] <= position <= span[1])
    return NameStanding(
        kind,
        last=known.versions[last],
        gone=_boundary(known, last + 1) if last + 1 < len(known.versions) else "",
        came=_boundary(known, first) if first else "",
        sure=sure,
    )


def _boundary(known: Known, position: int) -> str:
    """First release on the new side: its minor where only the last patch of each minor was read."""
    version = known.versions[position]
    if known.exact or position == 0:
        return version
    minor = ".".join(version.split(".")[:2])
    return version if known.versions[position - 1].startswith(f"{minor}.") else minor


def installed_version(versions: Mapping[str, str], name: str) -> str | None:
    """The version of a distribution that a log or its context tells, however it is spelled."""
    spellings = (name, name.lower(), name.replace("_", "-"), name.replace("-", "_"))
    return next((versions[each] for each in spellings if versions.get(each)), None)


def asker_of(frames: Sequence[str]) -> str | None:
    """Package whose code asked: of the innermost frame that is no machinery of imports; "" for the user's own.

    None where there is no traceback.
    """
    if not frames:
        return None
    asking = [each for each in frames if not _MACHINERY.search(each)]
    return package_of(asking[-1].rpartition(":")[0]) if asking else ""


def finding(problem: Problem, hits: Hits, known: Known, name: str, *, asked: tuple[str, str] | None = None,
            certain: bool = True) -> Finding | None:  # fmt: skip
    """Say what the history tells of a name that was not found.

    Args:
        problem: whose finding it is.
        hits: of the line with the exception.
        known: history of what was not found.
        name: how it is called in the words.
        asked: module and name as an import has them.
        certain: the exception can mean nothing else.

    """
    verdict = judge(known, installed_version(hits.versions, known.library))
    asker = asker_of(hits.first.frames)
    if verdict is None or asker == known.package:
        return None
    case, values = _told(verdict, known, asker, hits.versions, asked)
    installed = installed_version(hits.versions, known.library)
    confidence: Confidence = CONFIRMED if certain and verdict.sure else LIKELY
    return found(
        problem, CASES[case], where=hits.where(), evidence=hits.evidence(), confidence=confidence, name=name,
        library=known.library, version=f" {installed}" if installed else "", **values,
    )  # fmt: skip


def versions_of(verdict: NameStanding) -> dict[str, Any]:
    """What of a verdict fills the words."""
    return {"last": verdict.last, "gone": verdict.gone, "came": verdict.came, "range": verdict.range}


def of_own_code(verdict: NameStanding, known: Known, installed: str | None) -> tuple[str, dict[str, Any]]:
    """The case of a name that the user's own code uses, and what fills its words besides."""
    if verdict.kind == "gap":
        return "gap", {}
    if verdict.kind == "new":
        return "new-own", {}
    moved = moved_in(known, installed)
    if moved:
        return "gone-moved", {"moved": moved}
    return ("gone-renamed", {"renamed": known.renamed_to}) if known.renamed_to else ("gone-own", {})


def _told(verdict: NameStanding, known: Known, asker: str | None, versions: Mapping[str, str],
          asked: tuple[str, str] | None) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """The case of a verdict, and what fills its words."""
    values = versions_of(verdict)
    if verdict.kind in ("between", "gap"):
        return verdict.kind, values
    if asker is None:
        return ("new-any" if verdict.kind == "new" else "gone-any"), values
    if not asker:
        case, more = of_own_code(verdict, known, installed_version(versions, known.library))
        return case, values | more
    name = distribution(asker).replace("_", "-")
    installed = installed_version(versions, name)
    values |= {"asker": name, "asker_version": f" {installed}" if installed else ""}
    history = asks(asker, *asked) if asked else None
    if verdict.kind == "new":
        first = _boundary(history, history.spans[0][0]) if history and history.spans[0][0] else ""
        return ("new-asker" if first else "new-plain"), values | {"asker_first": first}
    last = history.spans[-1][1] if history else None
    free = _boundary(history, last + 1) if history and last is not None and last + 1 < len(history.versions) else ""
    return ("gone-upgrade" if free else "gone-pin"), values | {"asker_free": free}
