"""Writes the files of a new problem, ready to be filled."""

from __future__ import annotations

import re
from pathlib import Path

from doctor.core.index import load
from doctor.core.problem import AREAS
from doctor.core.retired_ids import RETIRED

_CHECK = '''"""TITLE: one sentence that names what is wrong.

## What it means
Explain.
## What it does to a run
Explain.
## What to do
Explain.
## How it is found
Explain.
## References
https://
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.packages import Packages

PROBLEM = Problem(id="{id}", name="{name}", severity=WARNING, since="{since}")

MESSAGE = Message(
    en=Words("Observed fact with number and place", "What it does to the run.", "What to do."),
    zh=Words("观察到的事实", "它对训练的影响。", "处理方法。"),
)


@check(PROBLEM)
def {function}(packages: Packages) -> Judgement:
    """Judge the facts."""
    if packages.version("trl") is None:
        return
    yield found(PROBLEM, MESSAGE)
'''

_CASES = """finds_it:
  facts: {packages: {trl: 1.16.0}}
  found:
    - {headline: Observed fact, severity: warning}
mended_is_silent:
  facts: {packages: {}}
  silent: true
"""


class ScaffoldError(Exception):
    """The new problem cannot be written; the message says why."""


def next_id(area: str) -> str:
    """The next free id of an area; retired ids are never used again."""
    prefix = AREAS[area]
    taken = [int(each[3:]) for each in [*(entry.id for entry in load()), *RETIRED] if each.startswith(prefix)]
    return f"{prefix}{max(taken, default=0) + 1:03d}"


def scaffold(root: Path, area: str, name: str, version: str) -> list[Path]:
    """Write `checks/<area>/<name>.py` and its case file; returns their paths.

    Raises:
        ScaffoldError: the name is not kebab-case or taken, or `root` is no checkout of the doctor.

    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        msg = f"`{name}` is not kebab-case"
        raise ScaffoldError(msg)
    if not (root / "checks").is_dir() or not (root / "tests" / "checks").is_dir():
        msg = f"`{root}` is no checkout of the doctor: it lacks checks/ and tests/checks/"
        raise ScaffoldError(msg)
    problem_id, function = next_id(area), name.replace("-", "_")
    check = root / "checks" / area / f"{function}.py"
    cases = root / "tests" / "checks" / f"{problem_id}.yaml"
    if check.exists() or cases.exists():
        msg = f"`{check}` or `{cases}` exists already"
        raise ScaffoldError(msg)
    since = ".".join(version.split(".")[:2])
    text = _CHECK.replace("{id}", problem_id).replace("{name}", name)
    check.write_text(text.replace("{since}", since).replace("{function}", function), encoding="utf-8")
    cases.write_text(_CASES, encoding="utf-8")
    return [check, cases]
