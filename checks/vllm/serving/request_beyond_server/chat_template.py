"""Judges VLL5449/chat_template, a row of request-beyond-server; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.model import Model
from doctor.facts.serving import Serving

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
FILE = TOML["file"]
LOG_COMMANDS = TOML.commands


@check(PROBLEM)
def served_without_template(serving: Serving, model: Model) -> Judgement:
    """Completions are answered without one, so that only requests of chats fail."""
    if not serving.kind.startswith("vllm") or serving.kind == "vllm-api-server":
        return
    if not model.here or not model.has_tokenizer or model.has_chat_template is not False:
        return
    if serving.arguments.get("chat_template") is None:
        yield found(
            PROBLEM, TOML["served"], severity=WARNING, confidence=LIKELY, commands=LOG_COMMANDS,
            evidence=(Observed.quoted(f"{model.folder}/tokenizer_config.json", "no chat_template"),),
        )  # fmt: skip


def explain(hits: Hits) -> Finding:
    """No template at all, or one that was named and is not there."""
    path = hits.get("path")
    return found(
        PROBLEM,
        FILE if path else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=() if path else LOG_COMMANDS,
        path=path or "",
    )
