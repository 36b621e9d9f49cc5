"""What is left when no signature knows a failure: the facts from which the area `unknown` words its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from doctor.core.finding import Evidence, Where
from doctor.core.record import record

Kind = Literal["exception", "consequences", "abrupt"]

#: Python's exception for SIGINT; vLLM's server raises it for SIGTERM as well
INTERRUPT = "KeyboardInterrupt"


@record
class Unknown:
    """A failure that no signature knows.

    A file under ``checks/unknown/`` declares ``answer(unknown: Unknown) -> Finding | None``; the first answer counts.

    Args:
        kind: "exception": a process raised something of its own; "consequences": the logs show only processes that lost
            another one, or how one ended; "abrupt": no failure and no end.
        process, rank: who; "" and None where nothing tells.
        type: exception type without its module; `names`: short names its message quotes; `message`: what it says,
            from which its kind is told and which no answer repeats; `worded`: what a later link of the chain says;
            `instead`: it was raised `from` another exception, which was not given.
        raised_in: innermost frame as "trainer.py:1576 (train)"; `library`, `library_version` of that file, "" unknown;
            `callers`: the libraries on the way there, nearest first.
        own: frames in the user's own code, innermost first, in the same form.
        others: ranks that failed because of it.
        exit_code, signal: how the process ended, where told.
        waiting, absent: ranks that waited for others, and those that left no word.
        steps: (done, all) of the training bar's last state.
        folded: Ray folded repeated lines away; `partial`: the log was too long to be read line by line.
        nature: what was given instead of a run's log: "empty", "binary", "wandb" (its own log), "foreign" (nothing of a
            run in it), "report" (about a machine), "notes" (on many problems), "wrapped" (cut into lines by a
            terminal); "" for a log, as far as can be told.
        begins: ids of problems whose messages begin as one that somebody cut off.

    """

    kind: Kind
    where: Where = Where()
    evidence: tuple[Evidence, ...] = ()
    process: str = ""
    rank: int | None = None
    type: str = ""
    names: tuple[str, ...] = ()
    message: str = ""
    worded: str = ""
    raised_in: str = ""
    library: str = ""
    library_version: str = ""
    own: Sequence[str] = ()
    others: Sequence[int] = ()
    exit_code: int | None = None
    signal: str = ""
    waiting: Sequence[int] = ()
    absent: Sequence[int] = ()
    steps: tuple[int, int] | None = None
    folded: bool = False
    partial: bool = False
    nature: str = ""
    callers: Sequence[str] = ()
    begins: Sequence[str] = ()
    instead: bool = False
