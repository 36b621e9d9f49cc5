"""Judges verl-override-unreadable (VRL037), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.shared.proofs import COMMAND
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.verl._override_grammar import (
    BEHIND,
    BLANK,
    COMMENT,
    EMPTY,
    LETTER,
    NO_VALUE,
    OPEN,
    SEVERAL,
    refused,
)
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
_CUT_OFF = TOML["cut_off"]
_EMPTY = TOML["empty"]
_NO_VALUE = TOML["no_value"]
_SEVERAL = TOML["several"]
_LETTER = TOML["letter"]
_OPEN = TOML["open"]
_BEHIND = TOML["behind"]
_SOMEWHERE = TOML["somewhere"]


_MESSAGES = {
    EMPTY: _EMPTY, BLANK: _CUT_OFF, COMMENT: _CUT_OFF, NO_VALUE: _NO_VALUE, SEVERAL: _SEVERAL, LETTER: _LETTER,
    OPEN: _OPEN, BEHIND: _BEHIND,
}  # fmt: skip

#: options of Hydra's own that take the next word (https://hydra.cc/docs/advanced/hydra-command-line-flags/)
_TAKE_A_WORD = {
    "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd", "--cfg", "-c", "--package", "-p",
    "--experimental-rerun", "--info", "-i",
}  # fmt: skip
_SEVERAL_RUNS = {"--multirun", "-m"}
#: letters of an override in a headline
_LONGEST = 80


def _overrides(words: tuple[str, ...]) -> Iterator[str]:
    """The words that Hydra reads as overrides: all but its own options and what they take."""
    taken = False
    for word in words:
        if not taken and not (word.startswith("-") and len(word) > 1):
            yield word
        taken = word in _TAKE_A_WORD


@check(PROBLEM)
def override_unreadable(launch: Launch) -> Judgement:
    """A word that is cut off comes first, for it takes the others with it; else each one is told."""
    if launch.kind != "verl":
        return
    several = not _SEVERAL_RUNS.isdisjoint(launch.script_args)
    refusals = [(word, why) for word in _overrides(launch.script_args) if (why := refused(word)) is not None]
    for word, why in refusals:
        if why.kind == SEVERAL and several:
            continue
        yield found(
            PROBLEM,
            _MESSAGES[why.kind],
            evidence=(Observed.quoted(COMMAND, word if word.strip() else f"'{word}'"),),
            word=_shown(word),
            at=why.at,
        )


def explain(hits: Hits) -> Finding:
    """What Hydra stumbled over, judged again from the override that it prints."""
    word = hits.get("override")
    word = " " if word == "" else word  # an empty word fails in other words: here the space at the line's end is lost
    why = refused(word) if word is not None else None
    if word is None or why is None:
        said = word or hits.evidence()[0].text
        return found(PROBLEM, _SOMEWHERE, where=hits.where(), evidence=hits.evidence(), said=said)
    message = _MESSAGES[why.kind]
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), word=_shown(word), at=why.at)


def _shown(word: str) -> str:
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 4]} ..."
