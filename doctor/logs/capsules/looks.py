"""Puts what `doctor hang` saw to the finding of a run that stood still: who waited for whom, and what that ran.

A look is a file `hangs/<host>-<time>.json` of the run folder; what wrote it is `doctor.hang`. The last one counts.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.catalogue.finding import Finding, Message, Words

SCHEMA = "doctor-hang/1"
FOLDER = "hangs"
_LARGEST = 8 << 20
_MOST_SENTENCES, _LONGEST_HEAD = 4, 150


def told(findings: Sequence[Finding], paths: Iterable[str], still: Container[str]) -> tuple[Finding, ...]:
    """The findings, that of a standstill with what was seen of it.

    Args:
        findings: as ranked.
        paths: run folders among them hold the looks.
        still: ids of the problems that a look explains.

    """
    place = next((number for number, each in enumerate(findings) if each.problem.id in still), None)
    look = last(paths) if place is not None else None
    if place is None or look is None:
        return tuple(findings)
    return (*findings[:place], _with(findings[place], *look), *findings[place + 1 :])


def last(paths: Iterable[str]) -> tuple[str, Mapping[str, Any]] | None:
    """File and content of the last look in the run folders among the paths; None where there is none."""
    files = [file for each in paths if (Path(each) / FOLDER).is_dir() for file in (Path(each) / FOLDER).glob("*.json")]
    for file in sorted(files, key=_written, reverse=True):
        try:
            if file.stat().st_size > _LARGEST:
                continue
            data = json.loads(file.read_text(encoding="utf-8", errors="replace"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(data, dict) and data.get("schema") == SCHEMA and _sentences(data, "en"):
            return str(file), data
    return None


def files_of(paths: Iterable[str], most: int) -> Iterator[tuple[str, Path]]:
    """(name below `hangs`, file) of the looks and capsules of some run folders, the newest of each first."""
    for path in paths:
        folder = Path(path) / FOLDER
        if folder.is_dir():
            files = sorted(folder.rglob("*.json"), key=_written, reverse=True)
            small = (each for each in files if each.stat().st_size <= _LARGEST)
            yield from ((each.relative_to(folder).as_posix(), each) for each in islice(small, most))


def _written(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _sentences(data: Mapping[str, Any], language: str) -> list[str]:
    told_ = data.get("told")
    lines = told_.get(language) if isinstance(told_, Mapping) else None
    return [str(each)[:600] for each in lines[:_MOST_SENTENCES]] if isinstance(lines, list) else []


def _with(finding: Finding, file: str, data: Mapping[str, Any]) -> Finding:
    english, chinese = _sentences(data, "en"), _sentences(data, "zh") or _sentences(data, "en")
    names = bool(data.get("sinks") or data.get("cycles"))
    values = {
        **finding.values, "hang": " ".join(english), "hang_zh": "".join(chinese),
        "hang_first": _head(english[0], ". "), "hang_first_zh": _head(chinese[0], "。"),
    }  # fmt: skip
    message = Message(
        _worded(finding.message.words("en"), "hang", " ", named=names),
        _worded(finding.message.words("zh"), "hang_zh", "", named=names),
    )
    return replace(
        finding, message=message, values=values,
        evidence=(*finding.evidence, *(Observed.quoted(file, each) for each in english)),
    )  # fmt: skip


def _head(sentence: str, end: str) -> str:
    return sentence.partition(end)[0].rstrip(".。")[:_LONGEST_HEAD]


def _worded(words: Words, name: str, between: str, *, named: bool) -> Words:
    """With the sentences in front; where somebody is named for whom the others wait, that is the headline's end."""
    head = words.headline.partition(":")[0].partition(":")[0]
    headline = f"{head}{': ' if between else ':'}{{{name.replace('hang', 'hang_first')}}}" if named else words.headline
    return Words(headline, f"{{{name}}}{between}{words.explanation}", words.remedy)
