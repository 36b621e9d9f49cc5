"""A run that made no progress, by its last steps, its last words or quoted stacks; the words stand in the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.catalogue.finding import Where


@record
class Stillness:
    """No step for long, and then the end.

    A file under ``checks/launch/`` declares ``of_stillness(stillness: Stillness) -> Finding``.

    Args:
        seconds: from the last step to the end of the logs; `usual_s`: what a step took before.
        step, total: where it stopped, None where the logs do not tell.
        where, evidence: the last sign of progress, and what came at the end.
        behind: (rank, seconds) of ranks whose last words are older than those of others, the oldest first.
        what: what the bar counts, where it is not that of the training.

    """

    seconds: float
    usual_s: float
    step: int | None
    total: int | None
    where: Where
    evidence: tuple[Observed, ...]
    behind: Sequence[tuple[int, float]] = ()
    what: str = ""


@record
class Loop:
    """A log that ends in a loop which waits.

    A file under ``checks/launch/`` declares ``of_loop(loop: Loop) -> Finding``.

    Args:
        text: the line that repeats; `failed`: what failed before it, "" where nothing did.
        where, evidence: the last line, and the failure.
        idle: words by which nothing works on what is waited for: "capacity 0"; "" where no line says so.
        limits: settings that may be the limit, as `name=value`.

    """

    text: str
    failed: str
    where: Where
    evidence: tuple[Observed, ...]
    idle: str = ""
    limits: tuple[str, ...] = ()


@record
class Begun:
    """A log that stops right where something was begun that has no time limit.

    A file under ``checks/launch/`` declares ``of_begun(begun: Begun) -> Finding``.

    Args:
        place: "extension", "rendezvous", "communicator" or "data"; "waits" where the line itself says that it waits;
            "receiver" where it sends to what has ended; "resources", "elsewhere" and "paused" where other lines tell
            what is missing.
        what: the folder, the backend, the version or the number of ranks that the line names; for what it waits.
        where, evidence: the line.
        ended: what has come to its end by the lines before, each in backticks; "" where they tell nothing. Of
            resources what there is of them, of a folder where is written instead, of an engine how many wait.

    """

    place: str
    what: str
    where: Where
    evidence: tuple[Observed, ...]
    ended: str = ""


@record
class LastConnection:
    """What the last words of processes say of the store by which the ranks meet.

    A file under ``checks/launch/`` declares ``of_connection(connection: LastConnection) -> Finding``.

    Args:
        state: the machine answers and nobody listens; no answer comes; a connection that stood was closed.
        host, port: of the store, "" where no line names it.
        ranks: whose last words these are, as "1, 2", "" where the lines name none.
        first: address on which rank 0 runs, where a line tells another one than `host`.
        where, evidence: the last of these lines, and the one that tells where rank 0 runs.

    """

    state: Literal["refused", "silent", "lost"]
    host: str
    port: str
    ranks: str
    where: Where
    evidence: tuple[Observed, ...]
    first: str = ""


#: what a process does, by its frames
Doing = Literal[
    "collective", "lock", "scores", "remote", "asks", "child", "gpu", "compiles", "loader", "idle", "computes"
]
#: what the stacks come to: the processes are in different collectives; some of them are in one and others are not; all
#: shown are in the same, and came there by different ways, or are in the same; one alone
Form = Literal["apart", "outside", "parted", "same", "alone"]


@record
class Stood:
    """One process.

    Args:
        who: as the text calls it: "rank 3", "EngineCore_DP1"; "" where it does not.
        doing, what: what it does, and the function that says so: ("collective", "all_reduce").
        at: the innermost frame of the program: "clip (reward.py:7)"; `led_by`: who called what it waits in.
        quote: the line of that frame.
        way: who called whom on the way there; of processes that parted the outermost first, from where they did.

    """

    who: str
    doing: Doing
    what: str
    at: str
    led_by: str
    quote: Observed
    way: Sequence[str] = ()


@record
class Stacks:
    """What quoted stacks come to.

    A file under ``checks/launch/`` declares ``of_stacks(stacks: Stacks) -> Finding``.

    Args:
        form: see `Form`.
        waiting: processes in a collective, those of one collective beside each other; else the one process.
        others: those that are in none, where some are.
        where: the first line of the stack to look at.

    """

    form: Form
    waiting: Sequence[Stood]
    others: Sequence[Stood]
    where: Where
