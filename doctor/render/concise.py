"""A report with one line a finding, as compilers print theirs: `FILE:LINE:COLUMN: ID severity: headline`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.render.plain import plain
from doctor.render.words import WORDS, counted, folded_reasons, told_once, verdict_of


def render(report: dict[str, Any], language: str) -> str:
    """Every finding on a line of its own, then the counts."""
    words = WORDS[language]
    lines = [verdict] if (verdict := verdict_of(report, words)) else []
    lines += [line_of(finding, words) for finding, _ in told_once(report["findings"])]
    lines += [words["crashed"].format(id=each["id"], error=each["error"]) for each in report["crashed"]]
    lines.append(counted(report, words))
    total = sum(count for _, count in folded_reasons(report["skipped"]))
    if total:
        lines.append(words["skipped_count"].format(count=total))
    return "".join(f"{plain(' '.join(line.split()))}\n" for line in lines)


def line_of(finding: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """`train.py:12:5: TRL006 error: num_generations=7 does not divide ...`; no place where there is none."""
    where = finding["where"]
    numbers = [str(where[name]) for name in ("line", "column") if name in where]
    place = ":".join([where["file"], *numbers]) if "file" in where else ""
    others = [f"{name} {where[name]}" for name in ("host", "rank", "gpu", "step") if name in where]
    place = place or " ".join(others)
    return f"{place}{': ' if place else ''}{finding['id']} {words[finding['severity']]}: {finding['headline']}"
