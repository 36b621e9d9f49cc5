"""Last lines with which programs end that did what they should, each in its own words.

They are no proof: what stands before them may have failed all the same. They tell only that a log does not break off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.logs.lines.prefixes import strip

_LINES, _SEARCHED, _LONGEST = 6, 60, 2_000
_WORK = (
    "training|fine-?tuning|finetune|run|job|experiments?|script|sweep|pipeline|build|tests|benchmark(?:ing)?"
    "|conversion|merging"
)
_RESULT = "final|results?|model|summary|report|merged"
_FINISHED = later(
    # wandb says goodbye; "View run" it says at the start as well
    # https://github.com/wandb/wandb/blob/main/wandb/sdk/wandb_run.py (`_footer`)
    r"^wandb: (?:Synced \d|Find logs at|Run (?:history|summary):)"
    rf"|\b(?:{_WORK}) (?:is |was |has |have |run )?(?:now )?(?:completed?|finished|done|succeeded|successful)\b"
    r"|\b(?:finished|completed|done) (?:with )?(?:training|fine-?tuning)\b"
    rf"|\b(?:{_RESULT})\b[^\n]{{0,60}}\b(?:saved|written|summarized)\b[^\n]{{0,30}} (?:to|in|at|into)\b"
    rf"|\b(?:saved|wrote) (?:the )?(?:{_RESULT})\b"
    r"|\bBUILD SUCCEEDED\b|\b(?:exit|return)[ _]?code ?[=:] ?0\b|\btotal training time\b|\btraining time: ?\d"
    r"|^(?:all )?(?:done|finished)(?:\W{0,3}$|[;,.] )|^(?:finished|ended|completed|end time)(?: at)?: "
    # what a script measures when it has trained
    rf"|\bafter (?:the )?(?:training|fine-?tuning|run)\b[^\n]{{0,40}}[:=] ?\d|^final [^\n]{{1,80}}[ :=]\d",
    re.IGNORECASE,
)
#: words of what is done many times in a run, or went wrong
_AMID = later(r"\b(?:epochs?|steps?|iter\w*|checkpoint\w*|ckpt|batch)\b|error|fail|\bnot\b", re.IGNORECASE)


def finishes(lines: Sequence[tuple[int, str]]) -> bool:
    """Whether one of the last lines of a log says that the work is done.

    Args:
        lines: (number, text) in order of time.

    """
    seen = 0
    for _, raw in reversed(lines[-_SEARCHED:]):
        text = strip(raw[-_LONGEST:].rpartition("\r")[2] if "\r" in raw else raw[:_LONGEST]).text.strip()
        if not text:
            continue
        if _FINISHED.search(text) and not _AMID.search(text):
            return True
        seen += 1
        if seen == _LINES:
            break
    return False
