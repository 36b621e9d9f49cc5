"""A report as GitHub Actions annotations (workflow commands).

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from typing import Any

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def _escape(text: str, *, in_property: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if in_property else text


def render(report: dict[str, Any]) -> str:
    """One line a finding, at its file and line where it has them."""
    lines = []
    for finding in report["findings"]:
        where = finding["where"]
        properties = {"title": f"{finding['id']} {finding['name']}"}
        properties |= {
            key: str(where[name])
            for key, name in (("file", "file"), ("line", "line"), ("col", "column"))
            if name in where
        }
        told = ",".join(f"{key}={_escape(value, in_property=True)}" for key, value in properties.items())
        text = "\n".join([finding["headline"], finding["remedy"]["text"], *finding["remedy"]["commands"]])
        lines.append(f"::{_LEVELS[finding['severity']]} {told}::{_escape(text)}")
    return "\n".join(lines) + ("\n" if lines else "")
