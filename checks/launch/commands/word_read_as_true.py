"""Judges word-read-as-true (LCH6540), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import at
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch
from doctor.facts.script import Script

TOML = words_of(__name__)
PROBLEM = TOML.problem
#: words by which nobody means True
_NEGATIVE = frozenset({"false", "f", "no", "n", "off", "0", "none", "null"})


@check(PROBLEM)
def word_read_as_true(script: Script, launch: Launch) -> Judgement:
    """Only what the command gives: a default that is text is the author's, who may know."""
    for flag in script.flags.values():
        if flag.converts_to != "bool" or not flag.takes_value:
            continue
        for name in flag.names:
            typed = launch.arguments.get(name.lstrip("-").replace("-", "_"))
            if typed is None or typed.text.lower() not in _NEGATIVE:
                continue
            yield found(
                PROBLEM, TOML["main"], confidence=LIKELY, where=at(flag.place), option=name, word=typed.text,
                off_by_default=True if flag.has_default and not flag.default else None,
                evidence=(
                    Observed.quoted("launch command", f"{name} {typed.text}"),
                    Observed.quoted(flag.place.file, f"{name}: type=bool", flag.place.line),
                ),
            )  # fmt: skip
