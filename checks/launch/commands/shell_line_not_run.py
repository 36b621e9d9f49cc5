"""Judges shell-line-not-run (LCH052), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, Where, found
from doctor.catalogue.words import words_of
from doctor.facts.launch import Launch

TOML = words_of(__name__)
PROBLEM = TOML.problem
CUT = TOML["cut"]
#: takes away what follows the backslash of every line: blanks, and a comment behind them
_MENDED = r"sed -i 's/\\[[:space:]]\{{1,\}}\(#.*\)\{{0,1\}}$/\\/' {file}"


@check(PROBLEM)
def command_cut_short(launch: Launch) -> Judgement:
    """The grammar of the shell tells where the command ends, and the script what stands below."""
    if launch.cut is None:
        return
    yield found(
        PROBLEM, CUT, where=Where(launch.cut.file, launch.cut.line), confidence=CONFIRMED, line=launch.cut.line,
        commands=(_MENDED.format(file=launch.cut.file),),
        evidence=(Observed.quoted(launch.cut.file, " ".join(launch.argv)[:200], launch.cut.line),),
    )  # fmt: skip
