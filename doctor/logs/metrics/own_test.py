"""What a program says of its model in its last lines: the result of its own test, as a share of right answers.

A reward that rose and a loss that fell say how well the run did what it was asked; a test at its end says whether that
was what its author wanted. A low result is no failure, and no reason to call the run healthy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.base.patterns import later
from doctor.logs.failures.case import Case
from doctor.logs.lines.prefixes import strip

#: last lines of a log in which the result of a test may stand
_LAST = 40
_RESULT = later(
    r"(?i)\b(?:exact[ _]match|accuracy|pass@1|success rate|solved|correct)\b[^\n]{0,60}?(?<![\w.])"
    r"(?:(?P<right>\d{1,6}) ?/ ?(?P<all>\d{1,6})|(?P<share>[01]?\.\d{1,6})|(?P<percent>\d{1,3}(?:\.\d{1,4})?) ?%)\s*$"
)
#: results of another moment or another model
_NOT_OF_THE_END = later(
    r"(?i)\b(?:before|baseline|initial\w*|base model|reference|untrained|epoch|step|iter\w*)\b|[{}]"
)
#: a test of fewer rows says little; and the share up to which most answers are wrong
_FEWEST, MOST_WRONG = 8, 0.5


def lowest(case: Case) -> float | None:
    """The lowest share of right answers that a test at the end tells, where most are wrong; None where none does."""
    share = min((each for kept in case.kept for each in _results(kept)), default=1.0)
    return share if share < MOST_WRONG else None


def _results(kept: Sequence[tuple[int, str]]) -> Iterator[float]:
    """The share of each result among the last lines of a log."""
    for _, whole in kept[-_LAST:]:
        text = strip(whole[:400]).text.strip()
        match = _RESULT.search(text)
        if match is None or _NOT_OF_THE_END.search(text):
            continue
        if match["all"]:
            if int(match["all"]) >= _FEWEST:
                yield int(match["right"]) / int(match["all"])
        else:
            yield float(match["share"]) if match["share"] else float(match["percent"]) / 100
