"""Judges typographic-characters (LCH009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d"
QUOTES = "\u2018\u2019\u201c\u201d\uff02"


@check(PROBLEM)
def typographic_characters(launch: Launch) -> Judgement:
    """One finding a word."""
    for word in launch.argv:
        if word[:1] and word[0] in DASHES + QUOTES:
            plain = word.lstrip(DASHES + QUOTES).rstrip(QUOTES)
            mended = f"--{plain}" if word[0] in DASHES else f"'{plain}'"
            yield found(
                PROBLEM,
                MESSAGE,
                word=word,
                code=f"{ord(word[0]):04X}",
                commands=(mended,),
                evidence=(Observed.quoted("launch command", " ".join(launch.argv)),),
            )
