"""What `doctor check` said of a command before `doctor run` launched it, for the report on how it ended."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.base.redact import redact
from doctor.readers.files.text import read_text

_MOST = 5


def warned(folder: Path, report: Mapping[str, Any], cwd: str | None) -> list[dict[str, Any]]:
    """Errors and warnings of the check in a run folder that the report on it does not hold itself, as it ordered them.

    Of a run that is known to be well nothing is said: the warning has not come true.

    Args:
        folder: of the run.
        report: by the contract `doctor/1`.
        cwd: where the command ran; files below it are named from there.

    """
    if report.get("verdict") == "healthy":
        return []
    told = {each["id"] for each in report["findings"]}
    return [
        {name: each[name] for name in ("id", "name", "severity", "headline", "where")}
        for each in _findings(folder / "check.json", cwd)
        if each["severity"] in {"error", "warning"} and each["id"] not in told
    ][:_MOST]


def _findings(path: Path, cwd: str | None) -> list[dict[str, Any]]:
    """Findings of a saved report without secrets; none where it is absent, damaged or of another form."""
    text = read_text(str(path))
    try:
        kept = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return []
    found = kept.get("findings") if isinstance(kept, dict) else None
    whole = [each for each in found if isinstance(each, dict) and _is_told(each)] if isinstance(found, list) else []
    # the folder is compared before its user's name is taken out
    shown = [redact({**each, "where": _from(cwd, each["where"])}) for each in whole]
    return [each for each in shown if isinstance(each, dict)]


def _from(cwd: str | None, where: dict[str, Any]) -> dict[str, Any]:
    file = where.get("file")
    if not isinstance(file, str) or cwd is None or not file.startswith(f"{cwd.rstrip('/')}/"):
        return where
    return {**where, "file": os.path.relpath(file, cwd)}


def _is_told(finding: Mapping[str, Any]) -> bool:
    texts = all(isinstance(finding.get(name), str) for name in ("id", "name", "severity", "headline"))
    return texts and isinstance(finding.get("where"), dict)
