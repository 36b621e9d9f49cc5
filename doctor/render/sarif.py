"""A report as SARIF 2.1.0, for code-scanning pages and editors.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: dict[str, Any]) -> dict[str, Any]:
    """SARIF log with one run; findings without a file have no location."""
    findings = report["findings"]
    rules = {each["id"]: each for each in findings}
    driver = {
        "name": "doctor",
        "version": report["doctor_version"],
        "rules": [
            {"id": each["id"], "name": each["name"], "shortDescription": {"text": each["headline"]}}
            for each in rules.values()
        ],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(each, list(rules)) for each in findings]}],
    }


def _result(finding: dict[str, Any], rule_ids: list[str]) -> dict[str, Any]:
    text = "\n".join([finding["headline"], finding["explanation"], finding["remedy"]["text"]])
    result: dict[str, Any] = {
        "ruleId": finding["id"],
        "ruleIndex": rule_ids.index(finding["id"]),
        "level": _LEVELS[finding["severity"]],
        "message": {"text": text},
        "properties": {"confidence": finding["confidence"], "commands": finding["remedy"]["commands"]},
    }
    where = finding["where"]
    if "file" in where:
        path = Path(where["file"])
        location: dict[str, Any] = {
            "artifactLocation": {"uri": path.as_uri() if path.is_absolute() else path.as_posix()}
        }
        if "line" in where:
            region = {"startLine": where["line"]}
            if "column" in where:
                region["startColumn"] = where["column"]
            location["region"] = region
        result["locations"] = [{"physicalLocation": location}]
    return result
