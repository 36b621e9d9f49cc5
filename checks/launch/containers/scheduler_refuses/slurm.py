"""Judges LCH4907/slurm, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
SIGNATURES = TOML.signatures
LOG_MESSAGE_WAITS = TOML["log_waits"]
LOG_MESSAGE_REQUEST = TOML["log_request"]
LOG_MESSAGE_CREDENTIAL = TOML["log_credential"]
LOG_MESSAGE_EXCLUSIVE = TOML["log_exclusive"]
LOG_MESSAGE_CONTROLLER = TOML["log_controller"]
LOG_MESSAGE_SILENT = TOML["log_silent"]
LOG_MESSAGE_UNBOUND = TOML["log_unbound"]
LOG_MESSAGE_SPEC = TOML["log_spec"]
LOG_MESSAGE_NOWHERE = TOML["log_nowhere"]


#: a part of Slurm's words -> what it says, https://github.com/SchedMD/slurm/blob/master/src/common/slurm_errno.c
REASONS = TOML.phrases("reason")
OTHER_REASON = TOML.phrase("other_reason")
#: not the request is at fault: the controller did not answer, or is busy
_CONTROLLER = later(r"(?i)slurm controller|socket timed out|zero bytes were transmitted|temporarily unable|try again")


def explain(hits: Hits) -> Finding | None:
    """It waits for itself, asks for too much, or cannot prove who it is; a step that was created waited no longer."""
    if hits.get("created") and all(hit.signature in (0, len(SIGNATURES) - 1) for hit in hits):
        return None
    told = hits.get("why") or ""
    why = next((words for part, words in REASONS.items() if part in told.lower()), OTHER_REASON)
    request = LOG_MESSAGE_CONTROLLER if _CONTROLLER.search(told) else LOG_MESSAGE_REQUEST
    messages = {
        "why": request, "exclusive": LOG_MESSAGE_EXCLUSIVE, "launch": LOG_MESSAGE_CREDENTIAL,
        "waiting": LOG_MESSAGE_WAITS, "silent": LOG_MESSAGE_SILENT,
        "unbound": LOG_MESSAGE_UNBOUND, "spec": LOG_MESSAGE_SPEC, "nowhere": LOG_MESSAGE_NOWHERE,
    }  # fmt: skip
    return found(
        PROBLEM,
        hits.choice(messages, LOG_MESSAGE_REQUEST),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if told and why is OTHER_REASON and request is LOG_MESSAGE_REQUEST else CONFIRMED,
        job=hits.get("waiting") or "",
        why=why,
        node=hits.get("node") or "",
        unbound=hits.get("unbound") or "",
        spec=_spec(hits.get("spec") or ""),
    )


def _spec(told: str) -> str:
    """Its options, or its first words."""
    options = " ".join(dict.fromkeys(re.findall(r"--[a-z\-]{2,30}", told)))
    return f"`{options}`" if options else told[:60]
