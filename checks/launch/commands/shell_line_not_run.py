"""Judges shell-line-not-run (LCH052), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Where, found
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
#: takes away what follows the backslash of every line: blanks, and a comment behind them
_MENDED = r"sed -i 's/\\[[:space:]]\{{1,\}}\(#.*\)\{{0,1\}}$/\\/' {file}"
_MESSAGES = {"blank": TOML["cut"], "comment": TOML["cut_by_comment"], "not joined": TOML["cut_unjoined"]}
_MOST_NAMED = 8
ENDS, ENDS_WITH_WORDS = TOML["ends"], TOML["ends_with_words"]


@check(PROBLEM)
def command_cut_short(launch: Launch) -> Judgement:
    """The grammar of the shell tells where the command ends, and the script what stands below."""
    cut = launch.cut
    if cut is None:
        return
    named = [f"`{each}`" for each in dict.fromkeys(cut.lost)]
    more = ["..."] if len(named) > _MOST_NAMED else []
    yield found(
        PROBLEM, _MESSAGES[cut.by], where=Where(cut.place.file, cut.place.line), confidence=CONFIRMED,
        line=cut.place.line, lost=", ".join([*named[:_MOST_NAMED], *more]),
        commands=(_MENDED.format(file=cut.place.file),) if cut.by == "blank" else (),
        evidence=(Observed.quoted(cut.place.file, " ".join(launch.argv)[:200], cut.place.line),),
    )  # fmt: skip


@check(PROBLEM)
def script_that_ends_itself(launch: Launch) -> Judgement:
    """An `exit` that is reached whatever only the run would tell, with a code that says failure."""
    stop = launch.stop
    if stop is None:
        return
    message = ENDS_WITH_WORDS if stop.said else ENDS
    yield found(
        PROBLEM, message, where=Where(stop.place.file, stop.place.line), confidence=LIKELY, line=stop.place.line,
        code=stop.code, said=stop.said,
        evidence=(Observed.quoted(stop.place.file, f"exit {stop.code}", stop.place.line),),
    )  # fmt: skip
