"""Judges arguments-nobody-parses (TRL064), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
import shlex

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
WORD = TOML["main"]

_OF_ARGUMENTS = (".json", ".yaml", ".yml")


@check(PROBLEM)
def word_without_option(launch: Launch, script: Script) -> Judgement:
    """A word in front of all options: dataclasses give options alone, and a file is read only where it stands alone."""
    word = launch.script_args[0] if launch.script_args else "-"
    if not script.reads_command_line or script.looks_at_words or script.tolerates_unknown:
        return
    if word.startswith("-") or "$" in word or "`" in word or (len(launch.script_args) == 1 and script.reads_config):
        return
    yield found(
        PROBLEM, WORD, word=word, file="yes" if word.endswith(_OF_ARGUMENTS) else "", confidence=LIKELY,
        evidence=(Observed.quoted("launch command", " ".join(launch.argv)),),
        commands=_with_config(launch, word) if script.reads_config and word.endswith(_OF_ARGUMENTS) else (),
    )  # fmt: skip


def _with_config(launch: Launch, word: str) -> tuple[str, ...]:
    """The whole command with `--config` before the file, whose word would otherwise stay where it stands."""
    before = len(launch.argv) - len(launch.script_args)
    if launch.argv[before:] != launch.script_args:
        return ()
    return (shlex.join([*launch.argv[:before], "--config", word, *launch.script_args[1:]]),)


def explain(hits: Hits) -> Finding | None:
    """Name the arguments; mere values only where no name is among them."""
    words = re.findall(r"['\"]([^'\"\n]{1,60})['\"]", hits.get("names") or "")
    names = [each for each in words if each.startswith("-")] or words
    if not names:
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        names=", ".join(f"`{each}`" for each in names[:4]),
    )  # fmt: skip
