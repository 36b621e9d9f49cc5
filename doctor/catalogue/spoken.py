"""What a program says of itself in plain words, where no signature knows it: the facts for an answer's words."""

from __future__ import annotations

from typing import Literal

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.finding import Where

#: what a sentence says, whatever it is about. Of a run that goes on: a value is no number; no gradient passes;
#: something is not learnt; rows or samples are left out; an answer cannot be read; another program is gone; a result is
#: not the same; something is not there; something else is taken instead; all of something failed; of something there is
#: none; a special token stands twice running. Of an exception: a size is beyond a limit; two figures that must agree do
#: not; a value is not known; something has not been set up; a division by 0; something is required; there may be one
#: only; nothing is left; something is not done, by the program or in this combination; a name has no
#: address; there is no way to an address; a tensor lies on another device than what works on it; a library refuses
#: without a word; a task was cancelled; CUDA refuses memory that the run gives away for a while; a wait has had its
#: time; a part failed, and the others took it for the end; ranks that share a batch print the
#: same rows; a size does not divide another; two precisions meet. Of a person: where it works.
Sense = Literal[
    "not_a_number", "no_gradient", "not_learnt", "left_out", "not_read", "gone", "not_same", "absent", "instead",
    "all_fail", "none_of", "twice", "beyond", "disagree", "not_known", "not_set_up", "by_zero", "required", "taken",
    "nothing_left", "cannot", "unresolved", "unreached", "devices", "silent", "cancelled", "given_away", "timed_out",
    "taken_for_end", "alike", "contrast", "indivisible", "precisions",
]  # fmt: skip


@record
class Spoken:
    """One sentence, understood by its predicate.

    A file under ``checks/launch/`` declares ``of_words(spoken: Spoken) -> Finding | None``.

    Args:
        sense: what it says.
        what: its clause, without level, logger and path, at most 140 characters.
        who: the library or component that says it, "" where nothing tells.
        times: how often it was said, lines that Ray folded included.
        first, second: two figures with their names, as `student=93`, where it compares any; of an address itself; of a
            refusal without words the counters that contradict it, and the user's frame; of a wait its seconds.
        settings: those that the sentence names, or that are 0, as `name=value`.
        raised: the exception was raised; else it is a line of a run that goes on.
        place: innermost frame of the exception, in backquotes.
        callers: libraries whose code led there, nearest first.
        slow: words of the lines around that show work which takes long, of a wait that has had its time.
        where, evidence: the line.

    """

    sense: Sense
    what: str
    where: Where
    evidence: tuple[Observed, ...]
    who: str = ""
    times: int = 1
    first: str = ""
    second: str = ""
    settings: tuple[str, ...] = ()
    raised: bool = False
    place: str = ""
    callers: tuple[str, ...] = ()
    slow: str = ""
