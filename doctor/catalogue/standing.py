"""Where the ranks of a run are while it makes no step: what each says of itself, and what that says of all.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from doctor.base.entries import is_entry
from doctor.base.own_frames import without
from doctor.base.patterns import later
from doctor.base.record import record

Frame = tuple[str, int, str]

_FRAMES = 40  # told in an event

#: frames of these files wait for other ranks; what begins with an underscore there only wraps the collective
_COLLECTIVES = later(r"torch/distributed/(?:distributed_c10d|_functional_collectives|nn/functional)\.py$")

#: a backward pass, in which DDP and FSDP wait for the gradients of the other ranks
_BACKWARD = "_engine_run_backward"

_TORCH = later(r"/(?:site|dist)-packages/torch/|/torch/(?:distributed|autograd|nn|_tensor|utils)\b")
_PACKAGE = later(r"/(?:site|dist)-packages/")
_STANDARD = later(r"/lib(?:64)?/python3\.\d{1,2}/(?!site-packages|dist-packages)|^<frozen ")


@record
class Standing:
    """One rank that has made no step for long.

    Args:
        rank: of the run; `world_size`: how many ranks it has.
        step: the last one that it finished; None before the first.
        seconds: since its last sign of life; `usual_s`: what a step took before, None where too few were seen.
        frames: (file, line, function) of its main thread, innermost first.
        host, pid: the process; `file`: where all its stacks lie, None where there is no run folder.

    """

    rank: int
    world_size: int
    step: Optional[int]
    seconds: float
    usual_s: Optional[float]
    frames: Sequence[Frame]
    host: str = ""
    pid: int = 0
    file: Optional[str] = None

    def as_data(self) -> dict[str, Any]:
        """What an event of kind `hang` holds beside rank, step, host and process."""
        return {
            "world_size": self.world_size, "seconds": round(self.seconds, 1), "usual_s": self.usual_s,
            "frames": [list(each) for each in self.frames[:_FRAMES]], "collective": self.collective,
            "at": self.at, "file": self.file,
        }  # fmt: skip

    @property
    def collective(self) -> Optional[str]:
        """The collective in which it waits for others, `backward` for one inside a backward pass; None for none."""
        called = None
        for file, _, function in self.frames:
            if _COLLECTIVES.search(file.replace("\\", "/")):
                called = function  # the outermost is the one that the program called
            elif function == _BACKWARD and called is None:
                return "backward"
            elif called is not None:
                return called
        return called

    @property
    def led_by(self) -> tuple[str, ...]:
        """Who called the collective: the innermost frame outside of torch, and the user's own where that is another."""
        outside = [
            each
            for each in self.frames
            if not (_TORCH.search(each[0].replace("\\", "/")) or _STANDARD.search(each[0]) or is_entry(each[0]))
        ]
        own = [each for each in outside if not _PACKAGE.search(each[0])]
        return tuple(dict.fromkeys(_told(each) for each in (*outside[:1], *own[:1])))

    @property
    def at(self) -> str:
        """Where it is: the innermost frame outside of the standard library, else any; "" where nothing is known."""
        outside = (each for each in self.frames if not (_STANDARD.search(each[0]) or is_entry(each[0])))
        frame = next(outside, self.frames[0] if self.frames else None)
        return "" if frame is None else _told(frame)


@record
class Waiting:
    """The ranks that wait in one collective, and the frames that led the first of them there, innermost first."""

    collective: str
    ranks: Sequence[int]
    led_by: Sequence[str] = ()


@record
class Standstill:
    """What the ranks' own words come to.

    Args:
        standing: the ranks that spoke, in order; none is missing from `silent`.
        behind: ranks that are not where the others wait, or whose last step is older; empty where nothing tells.
        waits: the collectives in which those wait that are not behind, most ranks first; empty where some of them are
            in none.
        silent: ranks that said nothing: they never finished a step, ended, or hold the interpreter's lock.

    """

    standing: Sequence[Standing]
    behind: Sequence[int] = ()
    waits: Sequence[Waiting] = ()
    silent: Sequence[int] = ()

    @property
    def waiting(self) -> Optional[str]:
        """The one collective in which all of them wait; None where there are several, or none."""
        return self.waits[0].collective if len(self.waits) == 1 else None

    @property
    def first(self) -> Standing:
        """The rank to look at."""
        return next((each for each in self.standing if each.rank in self.behind), self.standing[0])


def judge(standing: Iterable[Standing]) -> Optional[Standstill]:
    """Who is behind, and what the others wait in; None where nobody spoke.

    Only a rank that is outside of any collective while all others are inside of one is called behind, or one whose
    last step is older: where a rank waits for its GPU, its Python stack shows no collective.
    """
    ranks = {each.rank: each for each in standing}  # the last words of each
    if not ranks:
        return None
    spoke = [ranks[rank] for rank in sorted(ranks)]
    silent = tuple(sorted(set(range(max(each.world_size for each in spoke))) - set(ranks)))
    steps = {each.rank: -1 if each.step is None else each.step for each in spoke}
    newest = max(steps.values())
    late = tuple(rank for rank, step in steps.items() if step < newest)
    others = [each for each in spoke if each.rank not in late]
    waits = _waits(others)
    outside = tuple(each.rank for each in others if each.collective is None)
    if late:
        return Standstill(spoke, late, () if outside else waits, silent)
    inside = len(others) - len(outside)
    if outside and inside and len(outside) <= inside and not silent:
        return Standstill(spoke, outside, waits, silent)
    return Standstill(spoke, (), () if outside else waits, silent)


def _waits(standing: Iterable[Standing]) -> tuple[Waiting, ...]:
    """The collectives in which some ranks wait, that of most ranks first."""
    groups: dict[str, list[Standing]] = {}
    for each in standing:
        if each.collective is not None:
            groups.setdefault(each.collective, []).append(each)
    found = [Waiting(name, tuple(each.rank for each in group), group[0].led_by) for name, group in groups.items()]
    return tuple(sorted(found, key=lambda each: (-len(each.ranks), each.ranks[0])))


def standing_of(event: Mapping[str, Any]) -> Standing:
    """What an event of kind `hang` says.

    Raises:
        KeyError, TypeError, ValueError: it is not one of ours.

    """
    data = event["data"]
    usual = data["usual_s"]
    return Standing(
        rank=int(event["rank"] or 0), world_size=int(data["world_size"]), step=event["step"],
        seconds=float(data["seconds"]), usual_s=None if usual is None else float(usual),
        frames=of_program([(str(file), int(line), str(function)) for file, line, function in data["frames"]]),
        host=str(event["host"]), pid=int(event["pid"]), file=data["file"],
    )  # fmt: skip


def of_program(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Frames, innermost first, without those by which the doctor only passes a call on."""
    return without(tuple(reversed(frames)), lambda each: (each[0], each[2], ""))[::-1]


def _told(frame: Frame) -> str:
    return f"{frame[2]} ({_short(frame[0])}:{frame[1]})"


def _short(file: str) -> str:
    """The end of a path: below site-packages where it is there, else the file's own name."""
    return _PACKAGE.split(file)[-1] if _PACKAGE.search(file) else file.replace("\\", "/").rsplit("/", 1)[-1]
