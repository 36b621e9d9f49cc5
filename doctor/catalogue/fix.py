"""The remedies that apply themselves: `fixes/<area>/<name>.py` mends the problem of `checks/<area>/<name>.py`."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.check import wanted_facts
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import CATALOGUE, Entry
from doctor.catalogue.problem import Problem

if TYPE_CHECKING:
    from doctor.catalogue.plan import Plan

FIXES = "doctor.fixes"
Findings = Sequence[Finding]
Function = TypeVar("Function", bound="Callable[..., Plan | None]")


def fix(problem: Problem) -> Callable[[Function], Function]:
    """Declare how `problem` is mended: findings and facts in by type annotation, one plan out.

    A parameter annotated ``Findings`` gets every finding of the problem; without one the fix is planned from facts
    alone, also where no check finds the problem. None: nothing here can be mended by a plan.
    """

    def mark(function: Function) -> Function:
        function.__doctor_fix__ = problem  # type: ignore[attr-defined]
        return function

    return mark


@record
class Fix:
    """A fix, loaded.

    Args:
        problem: what it mends.
        function: makes the plan.
        facts: parameter -> (fact, needed).
        findings: the parameter that takes the findings, None when it needs none.

    """

    problem: Problem
    function: Callable[..., Plan | None]
    facts: Mapping[str, tuple[str, bool]]
    findings: str | None

    def plan(self, findings: Findings, states: Mapping[str, Observed]) -> Plan | None:
        """Make the plan.

        Raises:
            LookupError: a fact that it needs could not be seen; the message says why.
            Refused: a file does not hold what was found in it.

        """
        arguments: dict[str, Any] = {}
        for parameter, (name, needed) in self.facts.items():
            state = states.get(name)
            seen = state is not None and state.status == "ok"
            if needed and not seen:
                raise LookupError(state.reason if state is not None else f"{name} was not collected")
            arguments[parameter] = state.value if state is not None and seen else None
        if self.findings is not None:
            arguments[self.findings] = findings
        return self.function(**arguments)


def _root() -> Path:
    return Path(__file__).parent.parent / "fixes"


def fixable(entries: Iterable[Entry]) -> frozenset[str]:
    """Ids of the problems, and of rows, that have a fix: a file of the same name under `fixes/`."""
    files = _names(_root())
    return frozenset(each.id for each in entries if each.module in files)


@cache
def _names(root: Path) -> frozenset[str]:
    """Modules of problems with a fix; a command asks for them at every finding, and they are part of the program."""
    return frozenset(name for area in _folders(root) for name in _modules(area, f"{CATALOGUE}.{area.name}"))


def _folders(path: str | Path) -> list[os.DirEntry[str]]:
    return [each for each in os.scandir(path) if each.is_dir() and not each.name.startswith((".", "_"))]


def _modules(folder: os.DirEntry[str], dotted: str) -> Iterator[str]:
    """Dotted names of the modules of a folder, and of the folders in it: topics, and rows of a table."""
    for each in os.scandir(folder.path):
        if each.name.endswith(".py") and not each.name.startswith("_"):
            yield f"{dotted}.{each.name[:-3]}"
    for each in _folders(folder.path):
        yield from _modules(each, f"{dotted}.{each.name}")


def load_fix(entry: Entry) -> Fix | None:
    """The fix of a problem, None when there is none."""
    if not fixable([entry]):
        return None
    module = importlib.import_module(entry.module.replace(CATALOGUE, FIXES, 1))
    function = next(each for each in vars(module).values() if hasattr(each, "__doctor_fix__"))
    annotations = dict(function.__annotations__)
    findings = next((name for name, kind in annotations.items() if kind == "Findings"), None)
    annotations.pop(findings or "", None)
    return Fix(function.__doctor_fix__, function, wanted_facts(annotations), findings)
