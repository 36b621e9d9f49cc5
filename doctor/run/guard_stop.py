"""A run that the guard stopped: what its folder tells of that, and the exit code that says so.

A trainer that the guard asks to stop returns as after its last step, so the program ends with 0, and whatever waits for
a training that went well (`&& python eval.py`, Slurm's `afterok`) would begin. The command that wraps it therefore ends
with a code of its own, unless the program itself ended with another code than 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Optional

from doctor.base.record import record

if TYPE_CHECKING:
    from doctor.run.folder import RunDir

#: exit code of `doctor run` and `doctor monitor` for such a run. It lies above what curl (1 to 101), sysexits.h (64 to
#: 78) and GNU parallel (to 101) use, below Python's 120, xargs' and timeout's 123 to 125, and the shell's 126 to 255:
#: https://curl.se/docs/manpage.html#EXIT, https://man7.org/linux/man-pages/man3/sysexits.h.3head.html,
#: https://www.gnu.org/software/parallel/parallel.html, https://docs.python.org/3/library/sys.html#sys.exit
CODE = 119

_MARK = '"kind": "stop"'

#: what became of the weights: `asked`: the trainer was told to save them; `saved`; `failed`; `none`: the policy asks
#: for no checkpoint, or nobody can write one
SAVES = ("asked", "saved", "failed", "none")


@record
class Stop:
    """What the guard tells of its stop.

    Args:
        id: the problem for which it stopped the run.
        step: the optimizer step, None where it was not known.
        rank: of the process that told it first.
        policy: `checkpoint`, `stop` or `raise`.
        save: one of SAVES.

    """

    id: str
    step: Optional[int]
    rank: Optional[int]
    policy: str
    save: str

    def as_data(self) -> dict[str, Any]:
        """For `run.json` and for reports."""
        return {"id": self.id, "step": self.step, "rank": self.rank, "policy": self.policy, "save": self.save}

    @property
    def clause(self) -> str:
        """What a report says of it in its head, one clause."""
        at = "" if self.step is None else f" at step {self.step}"
        return f"stopped by the guard{at}: {self.id}, policy {self.policy}"


def of_run(run: RunDir, since_ns: int = 0) -> Optional[Stop]:
    """The first stop that the guard of any rank told; None where it stopped nothing.

    Args:
        run: the run folder; one that lacks its events tells nothing.
        since_ns: wall time since the epoch; what was told before belongs to another command.

    """
    from doctor.run.folder import whole_lines

    told = []
    for path in run.path.glob("events/*.jsonl"):
        for line in whole_lines(path):
            if _MARK in line:
                with suppress(ValueError):
                    told.append(json.loads(line))
    whole = [each for each in told if isinstance(each, dict) and isinstance(each.get("t_ns"), int)]
    return of_events(each for each in whole if each["t_ns"] >= since_ns)


def of_events(events: Iterable[Mapping[str, Any]]) -> Optional[Stop]:
    """The first stop among events; None where there is none."""
    stops = (each for each in events if each.get("kind") == "stop")
    first = min(stops, key=lambda each: int(each["t_ns"]), default=None)
    return None if first is None else of_event(first)


def of_event(event: Mapping[str, Any]) -> Stop:
    """What an event of kind `stop` says; what it lacks is unknown."""
    data = event.get("data")
    data = data if isinstance(data, dict) else {}
    step, rank = event.get("step"), event.get("rank")
    return Stop(
        id=str(event.get("id") or ""), step=step if isinstance(step, int) else None,
        rank=rank if isinstance(rank, int) else None, policy=str(data.get("policy") or ""),
        save=str(data.get("save") or "none"),
    )  # fmt: skip


def exit_code(run: RunDir, code: int, *, wanted: int = CODE, since_ns: int = 0, noted: bool = True) -> int:
    """The exit code of the doctor's command: the child's own, or `wanted` where it is 0 and the guard stopped the run.

    Args:
        run: the run folder; `run.json` gets `stopped`, with the code beside it as `returned`.
        code: the child's.
        wanted: by whoever called; 0 for those who want the child's.
        since_ns: when the child was started.
        noted: False where another process writes `run.json`.

    """
    stop = None
    with suppress(Exception):  # a bug of ours must not change the code of the command
        stop = of_run(run, since_ns)
    if stop is None:
        return code
    returned = code or wanted
    if noted:
        with suppress(OSError):
            run.write_run(stopped={**stop.as_data(), "returned": returned})
    return returned
