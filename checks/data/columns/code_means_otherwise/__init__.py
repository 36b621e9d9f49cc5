"""What rows of code-means-otherwise share: the idiom of the row's name in the script."""

from __future__ import annotations

from doctor.catalogue.check import Judgement
from doctor.catalogue.finding import LIKELY, Where, found
from doctor.catalogue.words import MAIN, ProblemWords
from doctor.facts.script import Script


def written(
    words: ProblemWords, script: Script, idiom: str, *, function: str = "", processes: int | None = None
) -> Judgement:
    """Say so where the code of a script holds an idiom; `function` is the hole that holds the name of one."""
    line = script.idioms.get(idiom)
    if line is None:
        return
    yield found(
        words.problem, words[MAIN], confidence=LIKELY, where=Where(file=line.source, line=line.line),
        evidence=(line,), function=line.value.get(function), processes=processes,
    )  # fmt: skip
