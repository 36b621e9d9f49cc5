"""Judges exception-taken-for-result (RLX032), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: what a handler asks of the exception that it caught: a slip in a handler, not a result
_HANDLERS = later(
    r"_?(?:message|msg|response|code|errno|status(?:_code)?|reason|body|detail|details|strerror|lineno|stderr|stdout"
    r"|output|returncode|cmd|headers|request|args|errors|error|text|json|retry_after|doc|pos|http_\w{1,20}|add_note"
    r"|with_traceback|exceptions|name|path|url|type|param)"
)


def explain(hits: Hits) -> Finding | None:
    """Not where a handler asks the exception that it has just caught for something that it lacks."""
    first = hits.first
    if _HANDLERS.fullmatch(first.groups.get("name") or ""):
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        error=first.groups["error"],
    )
