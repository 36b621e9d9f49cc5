"""An alarm of the guard as data of an event in the run folder, and back to the finding that it was.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Mapping, Optional

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Confidence, Finding, Message, Role, Where, Words
from doctor.catalogue.problem import Problem, Severity

_QUOTES, _QUOTE = 20, 400  # more and longer ones than these explain nothing


def as_data(finding: Finding, policy: Optional[str] = None) -> dict[str, Any]:
    """What an event of kind `alarm` holds: the finding in both languages, and what the guard did about it.

    Args:
        finding: of a problem whose id goes into the event itself.
        policy: name of what was done: "warn", "stop".

    """
    spoken = {"en": finding.words("en")}
    if finding.message.zh is not None:
        spoken["zh"] = finding.words("zh")
    return {
        "words": {language: asdict(words) for language, words in spoken.items()},
        "where": finding.where.as_dict(),
        "commands": list(finding.commands),
        "evidence": [
            {"source": each.source, "text": each.text[:_QUOTE], "line": each.line}
            for each in finding.evidence[:_QUOTES]
        ],
        "links": list(finding.links),
        "confidence": finding.confidence.value,
        "role": finding.role.value,
        "severity": finding.severity.value,
        "policy": policy,
    }


def finding_of(data: Mapping[str, Any], problem: Problem) -> Finding:
    """The finding that an alarm's data hold.

    Args:
        data: made by :func:`as_data`, read back from JSON.
        problem: the one that the event's id names.

    Raises:
        KeyError, TypeError, ValueError: the data are not what :func:`as_data` makes.

    """
    spoken = {language: _literal(words) for language, words in data["words"].items()}
    return Finding(
        problem, Message(spoken["en"], spoken.get("zh")), {}, Where(**data["where"]), tuple(data["commands"]),
        tuple(Observed.quoted(**each) for each in data["evidence"]), tuple(data["links"]),
        Confidence(data["confidence"]), Role(data["role"]), Severity(data["severity"]),
    )  # fmt: skip


def _literal(words: Mapping[str, str]) -> Words:
    """Words that are filled already: a brace in them stands for itself."""
    return Words(**{name: str(text).replace("{", "{{").replace("}", "}}") for name, text in words.items()})
