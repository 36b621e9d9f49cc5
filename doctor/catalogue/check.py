"""The decorator that makes a pure function a check of a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar, Union

from doctor.base.opened import fact_name
from doctor.catalogue.finding import Finding, Skip
from doctor.catalogue.problem import Problem

Judgement = Iterator[Union[Finding, Skip]]  # Python 3.9, where nodes of a cluster may run it
Function = TypeVar("Function", bound=Callable[..., Judgement])


def check(problem: Problem, *, requires: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Declare a check of `problem`: facts in by type annotation, findings and skips out.

    A parameter annotated ``Gpus`` is needed: without that fact the check is skipped with the fact's reason. One
    annotated ``Gpus | None`` gets None instead. `requires` names problems that make this one moot when found.
    """

    def mark(function: Function) -> Function:
        function.__doctor_check__ = (problem, requires)  # type: ignore[attr-defined]
        return function

    return mark


def check_of_rows(*, requires: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Declare a check that the rows of a table share, in the package's own file.

    Its first parameter, `words`, is what the TOML declares of the row that is judged; the others are facts as above. A
    row whose own file declares a check has that instead.
    """

    def mark(function: Function) -> Function:
        function.__doctor_check__ = (None, requires)  # type: ignore[attr-defined]
        return function

    return mark


def wanted_facts(annotations: dict[str, str]) -> dict[str, tuple[str, bool]]:
    """Parameter -> (fact name, needed) from annotations kept as text by the future import."""
    wanted = {}
    for parameter, annotation in annotations.items():
        if parameter == "return":
            continue
        names = [part.strip() for part in annotation.split("|")]
        wanted[parameter] = (fact_name(names[0]), "None" not in names)
    return wanted
