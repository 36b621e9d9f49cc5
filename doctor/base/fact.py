"""What every fact is made of: the request, the way to say "could not see", and places in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, TypeVar

from doctor.base.evidence import Observations, Observed, Place
from doctor.base.opened import NotSeen
from doctor.base.record import record, replace

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
    framework: bool = False  # the validator of the framework that the command starts is called, in a held child
    meeting: Meeting | None = None  # with `deep`, of many nodes
    gathering: bool = False  # this is one of several nodes: look whether it reaches the others


#: what somebody wrote down, by the names of the program that reads it
Settings = Mapping[str, Observed]


@record
class BrokenFile:
    """A file that could not be read as what it should be. `message` is one plain sentence without the path."""

    place: Place
    message: str


@record
class RepeatedKey:
    """A key that one mapping of a file gives more than once, with other values.

    `first` is what does not count, `last` what does. A mapping or a list among them has no value, only a place.
    """

    first: Observed
    last: Observed


def fact(*, timeout_s: float = 3.0, about: About = "machine") -> Callable[[Collect], Collect]:
    """Mark `collect` of a fact module.

    `about="machine"` facts come from a saved file when one is given; `about="command"` facts are read from the launch
    command and its files, also then; `about="elsewhere"` facts are of more than this machine, and only given.
    """

    def mark(function: Collect) -> Collect:
        function.__doctor_fact__ = (timeout_s, about)  # type: ignore[attr-defined]
        return function

    return mark


def run_fact(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Observed:
    """Call a fact's `collect`; whatever it raises becomes a reason."""
    try:
        return Observed.seen(function(**arguments))
    except Unavailable as exc:
        return Observed.unseen(str(exc), applies=not isinstance(exc, DoesNotApply))
    except NotSeen as exc:  # it rests on a fact of which only a part was seen
        return Observed.unseen(str(exc))
    except Exception as exc:  # noqa: BLE001 - a bug or a hostile machine costs one fact, never the report
        return Observed.unseen(f"could not be read: {type(exc).__name__}: {exc}")


def world_of(states: Mapping[str, Observed]) -> Observations:
    """The world that captured facts make."""
    return Observations(each if each.name == name else replace(each, name=name) for name, each in states.items())
