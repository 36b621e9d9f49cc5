"""Writes the files of a new problem, ready to be filled."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from doctor.base.record import record
from doctor.catalogue.index import load
from doctor.catalogue.malformed import CHINESE
from doctor.catalogue.problem import AREAS
from doctor.catalogue.retired_ids import RETIRED

_IDS = 10_000
_PLACE = re.compile(r"\{(id|name|since|function|message|class|signature|severity)\}")

#: what stands where something is to be written; the tests and `doctor dev lint` refuse it
UNFILLED = "TO BE WRITTEN"

_TOML = """#:schema ../../doctor/data/problem.schema.json
id = "{id}"
name = "{name}"
severity = "{severity}"
since = "{since}"

[manual]
title = "TO BE WRITTEN: one sentence that names what is wrong."
meaning = "TO BE WRITTEN."
effect = "TO BE WRITTEN."
remedy = "TO BE WRITTEN."
detection = "TO BE WRITTEN."
references = [
    "https://",
]
{signature}
[message.{message}]
headline = "TO BE WRITTEN: the observed fact with number and place"
explanation = "TO BE WRITTEN: what it does to the run."
remedy = "TO BE WRITTEN: what to do."
"""

_SIGNATURE = """
[[signature]]
pattern = {pattern}
{frame}"""
_PATTERN = f"{UNFILLED}: a regular expression of one line, whole on this line"

_CHINESE = """#:schema ../../../doctor/data/problem-zh.schema.json
[{message}]
headline = "TO BE WRITTEN: 观察到的事实"
explanation = "TO BE WRITTEN: 它对训练的影响。"
remedy = "TO BE WRITTEN: 处理方法。"
"""

_CHECK = '''"""Judges {name} ({id}), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages

TOML = words_of(__name__)
PROBLEM = TOML.problem


@check(PROBLEM)
def {function}(packages: Packages) -> Judgement:
    """TO BE WRITTEN: what is judged."""
    if packages.version("trl") is None:
        return
    yield found(PROBLEM, TOML["main"])
'''

_RULE = '''"""Judges {name} ({id}), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.rules import sighting
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem


@rule(PROBLEM, needs=("loss",))
class {class}:
    """TO BE WRITTEN: what is judged."""

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one point."""
        if point.value >= 0:
            return None
        return found(PROBLEM, TOML["main"], confidence=LIKELY, **sighting(point))
'''

_CASES = """finds_it:
  facts: {packages: {trl: 1.16.0}}
  found:
    - {headline: TO BE WRITTEN, severity: warning}
mended_is_silent:
  facts: {packages: {}}
  silent: true
"""

_SOURCES = """[hit-1]
source = "TO BE WRITTEN"
groups = {groups}

[miss-1]
source = "TO BE WRITTEN"
why = "TO BE WRITTEN"
"""


@record
class Shown:
    """How a problem shows in a log that is at hand.

    Args:
        pattern, frame: of the signature; "" where there is none.
        groups: what the pattern captures of the sample.
        sample: the log, or the part of it around the line.

    """

    pattern: str = _PATTERN
    frame: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    sample: str = f"{UNFILLED}\n"


class ScaffoldError(Exception):
    """The new problem cannot be written; the message says why."""


def new_id(area: str, name: str) -> str:
    """A free id of an area: four digits of a hash of the name, so that two contributors do not take the same one.

    Ids that were retired are never used again.
    """
    prefix = AREAS[area]
    taken = {*(entry.id for entry in load()), *RETIRED}
    start = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest(), "big") % _IDS
    tried = (f"{prefix}{(start + step) % _IDS:04d}" for step in range(_IDS))
    return next(each for each in tried if each not in taken)


def scaffold(
    root: Path, area: str, name: str, version: str, *, form: str = "signature", shown: Shown | None = None
) -> list[Path]:
    """Write the files of a problem, `checks/<area>/<name>.toml` first; returns their paths.

    Args:
        root: a checkout of the doctor.
        area: folder below `checks`.
        name: of the problem, in kebab-case.
        version: of the doctor.
        form: how it is found: "signature", "check" or "rule".
        shown: of a signature, what a log at hand says.

    Raises:
        ScaffoldError: the name is not kebab-case or taken, or `root` is no checkout of the doctor.

    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        msg = f"`{name}` is not kebab-case"
        raise ScaffoldError(msg)
    if not (root / "checks").is_dir() or not (root / "tests" / "checks").is_dir():
        msg = f"`{root}` is no checkout of the doctor: it lacks checks/ and tests/checks/"
        raise ScaffoldError(msg)
    files = _contents(root, area, name, ".".join(version.split(".")[:2]), form, shown or Shown())
    if taken := [path for path in files if path.exists()]:
        msg = f"`{taken[0]}` exists already"
        raise ScaffoldError(msg)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def _contents(root: Path, area: str, name: str, since: str, form: str, shown: Shown) -> dict[Path, str]:
    problem_id, stem = new_id(area, name), name.replace("-", "_")
    folder, is_log = root / "checks" / area, form == "signature"
    values = {
        "id": problem_id, "name": name, "since": since, "function": stem, "message": "log" if is_log else "main",
        "class": "".join(part.title() for part in name.split("-")), "signature": _signature(shown) if is_log else "",
        "severity": "error" if is_log else "warning",
    }  # fmt: skip

    def filled(text: str) -> str:
        return _PLACE.sub(lambda match: values[match[1]], text)

    files = {folder / f"{stem}.toml": filled(_TOML), folder / CHINESE / f"{stem}.toml": filled(_CHINESE)}
    if is_log:
        samples = root / "tests" / "signatures" / problem_id
        groups = ", ".join(f"{key} = {_quoted(value)}" for key, value in shown.groups.items())
        files[samples / "sources.toml"] = _SOURCES.replace("{groups}", f"{{ {groups} }}" if groups else "{}")
        files[samples / "hit-1.log"] = shown.sample
        files[samples / "miss-1.log"] = f"{UNFILLED}\n"
    else:
        files[folder / f"{stem}.py"] = filled(_CHECK if form == "check" else _RULE)
    if form == "check":
        files[root / "tests" / "checks" / f"{problem_id}.yaml"] = _CASES
    return files


def _signature(shown: Shown) -> str:
    frame = f"frame = {_quoted(shown.frame)}\n" if shown.frame else ""
    return _SIGNATURE.replace("{pattern}", _quoted(shown.pattern)).replace("{frame}", frame)


def _quoted(text: str) -> str:
    """A string of TOML: in single quotes as patterns want it, in three of them where it holds one."""
    if "'" not in text:
        return f"'{text}'"
    if "'''" not in text and not text.endswith("'"):
        return f"'''{text}'''"
    return json.dumps(text, ensure_ascii=False)
