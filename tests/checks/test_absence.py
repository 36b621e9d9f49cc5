"""What is missing from a list that may lack some is unknown: every check that has a case, whatever it looks for.

A case is judged in worlds that its list leaves possible: as given, and with one more distribution. A finding that one
more distribution takes away rests on its absence; of a list that is not complete it is then not confirmed, and where
it is not said, the check is skipped with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from doctor.catalogue.finding import CONFIRMED
from doctor.catalogue.outcome import Outcome
from doctor.facts.packages import Distribution, Packages
from tests.case_files import read_cases
from tests.each import for_each

from . import cases
from .test_cases import ENTRIES, case_files

#: (problem, distribution) that cannot be together: no release of TRL with GRPO installs under such a Python
IMPOSSIBLE = {("PYT001", "trl")}
HOOK = "/env/lib/python3.11/site-packages/company_start.pth"


def _with_packages() -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    for problem_id, path in case_files():
        for name, case in read_cases(path).items():
            facts = case.get("facts", {})
            if "packages" in facts and "found" in case and "complete" not in facts["packages"]:
                yield f"{problem_id}-{name}", (problem_id, case)


class Asked(Mapping[str, Distribution]):
    """Distributions that note which names are asked for; whoever goes through them asks for every name."""

    def __init__(self, distributions: Mapping[str, Distribution]) -> None:
        self._distributions = distributions
        self._names: set[str] = set()
        self._all = False

    def __getitem__(self, name: str) -> Distribution:
        self._names.add(name)
        return self._distributions[name]

    def __iter__(self) -> Iterator[str]:
        self._all = True
        return iter(self._distributions)

    def __len__(self) -> int:
        self._all = True
        return len(self._distributions)

    def asked_for(self, name: str) -> bool:
        """Whether one more distribution of this name can change what is judged."""
        return self._all or name in self._names


def judged(problem_id: str, case: dict[str, Any], folder: Path, **changes: Any) -> tuple[Outcome, Packages]:
    """The case with other packages."""
    seen: list[Packages] = []
    build = cases.build_fact

    def changed(name: str, data: Any) -> Any:
        fact = build(name, dict(data) if isinstance(data, dict) else data)
        if name != "packages":
            return fact
        more = {each: Distribution(each, "99.0") for each in changes.get("more", ())}
        hook = changes.get("hook")
        seen.append(
            Packages(
                **{
                    **{each: getattr(fact, each) for each in type(fact).__dataclass_fields__},
                    "distributions": Asked({**fact.distributions, **more}),
                    "complete": fact.complete and not hook,
                    "unread": (HOOK,) if hook else (),
                }
            )
        )
        return seen[-1]

    with patch.object(cases, "build_fact", changed):
        outcome = cases.run_case(ENTRIES[problem_id], case, folder)
    assert not outcome.crashed, outcome.crashed[0].traceback
    return outcome, seen[0]


def headlines(outcome: Outcome) -> list[str]:
    return [finding.words().headline for finding in outcome.findings]


@for_each("problem_id, case", _with_packages())
def test_what_rests_on_an_absence_is_unknown_where_a_start_runs_what_was_not_read(
    problem_id: str, case: dict[str, Any], tmp_path: Path
) -> None:
    whole, packages = judged(problem_id, case, tmp_path)
    partial, _ = judged(problem_id, case, tmp_path, hook=True)
    sure = {each.words().headline for each in partial.findings if each.confidence is CONFIRMED}
    if lost := set(headlines(whole)) - set(headlines(partial)):
        assert partial.skipped, f"not said and not skipped: {lost}"
        assert any(HOOK in each.reason for each in partial.skipped), [each.reason for each in partial.skipped]
    words = " ".join((*headlines(whole), *(each for finding in whole.findings for each in finding.commands)))
    named = {each.replace("_", "-").lower() for each in re.findall(r"[A-Za-z][\w-]{2,30}", words)}
    asked = packages.distributions
    assert isinstance(asked, Asked)
    possible = [name for name in sorted(named) if asked.asked_for(name)]
    for name in possible:
        if name in asked or (problem_id, name) in IMPOSSIBLE:
            continue
        other, _ = judged(problem_id, case, tmp_path, more=[name])
        gone = set(headlines(whole)) - set(headlines(other))
        assert not gone & sure, (
            f"`{name}` takes away what is said for certain of a list that may lack it: {gone & sure}"
        )


def test_the_property_is_tried_on_checks_of_many_areas() -> None:
    areas = {ENTRIES[problem_id].area for _, (problem_id, _) in _with_packages()}
    assert len(areas) >= 12
