"""A report cut down to what a reader with little room needs: `--format json --brief`, schema `doctor-brief/1`.

Made from a report (`doctor.diagnosis.report.as_dict`), so it is redacted already. Every text and every list in it is
bounded: a report of a hundred findings becomes some ten thousand characters, and says what was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

SCHEMA = "doctor-brief/1"

#: how many of each are kept
FINDINGS, QUOTATIONS, COMMANDS, REASONS, WORDS = 10, 2, 5, 5, 40
#: the longest texts, in characters
_HEADLINE, _SENTENCES, _QUOTATION = 300, 500, 240


def brief_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report in brief: findings in its order, the most important first.

    Args:
        report: of schema `doctor/1`.

    """
    findings = report["findings"]
    severities = Counter(each["severity"] for each in findings)
    blind = [each for each in report["skipped"] if not each.get("ignored")]
    kept = {name: report[name] for name in ("verdict", "usage") if name in report}
    return {
        "schema": SCHEMA,
        "doctor_version": report["doctor_version"],
        "command": report["command"],
        "target": _target(report["target"]),
        **kept,
        "findings": [_finding(each) for each in findings[:FINDINGS]],
        "not_judged": _reasons(blind),
        "summary": {
            "errors": severities["error"],
            "warnings": severities["warning"],
            "infos": severities["info"],
            "left_out": max(len(findings) - FINDINGS, 0),
            "not_judged": len(blind),
            "crashed": len(report["crashed"]),
        },
    }


def _target(target: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "python": target["python"],
        "argv": [cut(each, _SENTENCES) for each in target["argv"][:WORDS]],
        "run_dir": target["run_dir"],
        **({"stopped": target["stopped"]} if "stopped" in target else {}),
    }


def _finding(finding: Mapping[str, Any]) -> dict[str, Any]:
    remedy = finding["remedy"]
    return {
        **{name: finding[name] for name in ("id", "name", "severity", "confidence", "role")},
        "headline": cut(finding["headline"], _HEADLINE),
        "explanation": cut(finding["explanation"], _SENTENCES),
        "remedy": {
            "text": cut(remedy["text"], _SENTENCES),
            "commands": [cut(each, _SENTENCES) for each in remedy["commands"][:COMMANDS]],
            "fix": remedy["fix"],
        },
        "where": finding["where"],
        "evidence": [
            {**each, "text": cut(each["text"], _QUOTATION)} for each in finding["evidence"][:QUOTATIONS]
        ],
    }  # fmt: skip


def _reasons(blind: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Why things were not judged, the most frequent reason first."""
    counts = Counter(str(each["reason"]) for each in blind)
    return [{"reason": cut(reason, _HEADLINE), "count": count} for reason, count in counts.most_common(REASONS)]


def cut(text: str, longest: int) -> str:
    """The text where it is short enough, else its beginning and an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
