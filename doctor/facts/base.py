"""What every fact is made of: the request, the way to say "could not see", and places in files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeVar

from doctor.core.record import record

Status = Literal["ok", "unavailable", "timeout"]
About = Literal["machine", "command", "elsewhere"]
Collect = TypeVar("Collect", bound=Callable[..., Any])

NO_COMMAND = "no launch command given"


class Unavailable(Exception):  # noqa: N818 - an answer, not an error
    """The fact cannot be seen here; the message is the reason shown to the user."""


class DoesNotApply(Unavailable):
    """The question does not arise here (the command serves a model, so it has no training arguments).

    Checks that need the fact keep silent: this is no blind spot.
    """


@record
class Meeting:
    """How this node finds the others for the measurements of `--deep` over many nodes.

    Args:
        node: number of this node, from 0, of `nodes`.
        token: names this one measurement, the same on all nodes.
        seconds: that the measurement may take; the nodes wait as long for each other before.
        forced: GPUs that others use are measured too.
        folder: of a file store, where all nodes see it; else a TCP store at `address`:`port`.
        hosted: node 0 opens that store; False where the launcher's agent listens there already.

    """

    node: int
    nodes: int
    token: str
    seconds: float = 60.0
    forced: bool = False
    folder: str | None = None
    address: str | None = None
    port: int | None = None
    hosted: bool = False


@record
class Context:
    """What the user asked for. The only input of facts that is not another fact."""

    argv: tuple[str, ...] = ()  # the launch command, without "--"
    cwd: Path = field(default_factory=Path.cwd)
    environ: Mapping[str, str] = field(default_factory=dict)  # the doctor's own environment
    python: str | None = None  # --python as typed
    deep: bool = False
    meeting: Meeting | None = None  # with `deep`, of many nodes
    gathering: bool = False  # this is one of several nodes: look whether it reaches the others


@record
class Place:
    """A place in a file; line and column count from 1."""

    file: str
    line: int | None = None
    column: int | None = None


@record
class Setting:
    """A value that somebody wrote down: in YAML, JSON, Python or on a command line.

    Args:
        name: dotted key as the program that reads it calls it.
        value: the value, None when it could not be read without running code.
        known: False when `value` could not be read (a variable, a call); then `text` is the source text.
        text: as written.
        place: where; None for the command line.

    """

    name: str
    value: Any
    known: bool = True
    text: str = ""
    place: Place | None = None


Settings = Mapping[str, Setting]


@record
class BrokenFile:
    """A file that could not be read as what it should be. `message` is one plain sentence without the path."""

    place: Place
    message: str


@record
class FactState:
    """One fact as captured: its value, or why there is none."""

    status: Status
    value: Any = None
    reason: str = ""
    source: str = ""
    seconds: float = 0.0
    applies: bool = True  # False: there is nothing of the kind to be seen here


def fact(*, timeout_s: float = 3.0, about: About = "machine") -> Callable[[Collect], Collect]:
    """Mark `collect` of a fact module.

    `about="machine"` facts come from a saved file when one is given; `about="command"` facts are read from the launch
    command and its files, also then; `about="elsewhere"` facts are of more than this machine, and only given.
    """

    def mark(function: Collect) -> Collect:
        function.__doctor_fact__ = (timeout_s, about)  # type: ignore[attr-defined]
        return function

    return mark


def run_fact(function: Callable[..., Any], arguments: Mapping[str, Any]) -> FactState:
    """Call a fact's `collect`; whatever it raises becomes a reason."""
    started = time.monotonic()
    try:
        value = function(**arguments)
    except Unavailable as exc:
        applies = not isinstance(exc, DoesNotApply)
        return FactState("unavailable", reason=str(exc), seconds=time.monotonic() - started, applies=applies)
    except Exception as exc:  # noqa: BLE001 - a bug or a hostile machine costs one fact, never the report
        reason = f"could not be read: {type(exc).__name__}: {exc}"
        return FactState("unavailable", reason=reason, seconds=time.monotonic() - started)
    return FactState("ok", value, seconds=time.monotonic() - started)
