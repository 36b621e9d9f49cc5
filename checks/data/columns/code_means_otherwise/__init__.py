"""What rows of code-means-otherwise share: the idiom of the row's name in the script."""

from __future__ import annotations

from doctor.catalogue.check import Judgement, check_of_rows
from doctor.catalogue.finding import LIKELY, Where, found
from doctor.catalogue.words import MAIN, ProblemWords
from doctor.facts.script import Script


@check_of_rows()
def written(words: ProblemWords, script: Script, *, processes: int | None = None) -> Judgement:
    """Say so where the code of a script holds the idiom; the row's values are names in its words, with their holes."""
    line = script.idioms.get(words.problem.row)
    if line is None:
        return
    holes = {"function": None, **words.values}
    yield found(
        words.problem, words[MAIN], confidence=LIKELY, where=Where(file=line.source, line=line.line),
        evidence=(line,), processes=processes, **{name: line.value.get(hole) for name, hole in holes.items()},
    )  # fmt: skip
