"""A report as Markdown, ready to paste into an issue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.render import matrix, rehearsal
from doctor.render.words import (
    WORDS,
    chain_of,
    commands_of,
    echoes_of,
    folded_reasons,
    judged_of,
    notes_of,
    place_in,
    quiet_of,
    source_of,
    told_once,
    verdict_of,
)


def render(report: dict[str, Any], language: str = "en") -> str:
    """Findings as sections, skips folded into one line each reason."""
    words = WORDS[language]
    lines = [f"## doctor {report['command']}", ""]
    if verdict := verdict_of(report, words):
        lines += [f"**{verdict}**", ""]
    lines += [each for line in judged_of(report, words) for each in (line, "")]
    if report["target"]["summary"]:
        lines += [" · ".join(report["target"]["summary"]), ""]
    for finding, echoes in told_once(report["findings"]):
        lines += _finding(finding, words)
        lines += [f"*{echoes_of(echoes, words)}*", ""] if echoes else []
    if steps := chain_of(report, words):
        lines += [f"{words['chain_title']}:", ""]
        lines += [
            f"- {' '.join(each for each in step[:3] if each)} ({step[3]})" if step[3] else f"- {step[2]}"
            for step in steps
        ]
        lines.append("")
    if report.get("rehearsal"):
        lines += rehearsal.markdown(report["rehearsal"], language)
    if report.get("nodes"):
        lines += matrix.markdown(report["nodes"], language)
    if not report["findings"] and "verdict" not in report:
        lines += [quiet_of(report, words), ""]
    for crash in report["crashed"]:
        lines += [words["crashed"].format(id=crash["id"], error=crash["error"]), ""]
    if reasons := folded_reasons(report["skipped"]):
        lines += [f"{words['skipped_title']}:", ""]
        lines += [f"- {count} × {reason}" for reason, count in reasons]
    return "\n".join(lines).rstrip() + "\n"


def _finding(finding: Mapping[str, Any], words: Any) -> list[str]:
    place = place_in(finding, words)
    lines = [f"### {words[finding['severity']]}: {finding['id']} {finding['name']}{f' ({place})' if place else ''}", ""]
    lines += [f"**{finding['headline']}**", ""]
    for note in notes_of(finding, words):
        lines += [f"*{note}*", ""]
    lines += [finding["explanation"], "", finding["remedy"]["text"], ""]
    if commands := commands_of(finding, words):
        lines += ["```sh", *commands, "```", ""]
    if finding["evidence"]:
        lines.append("```text")
        for each in finding["evidence"]:
            lines.append(f"{source_of(each, words)}: {each['text']}".replace("```", "'''"))
        lines += ["```", ""]
    return lines
