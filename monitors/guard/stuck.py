"""Notices that a run makes no step any more, while it still stands: stacks of every rank, and who is behind."""

from __future__ import annotations

import faulthandler
import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import IO, TYPE_CHECKING, Callable, Optional

from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import WARNING
from doctor.catalogue.standing import Frame, Standing, judge, standing_of
from doctor.checks.launch.run_stood_still import of_standstill
from doctor.monitors.guard import flight, stacks
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import shielded
from doctor.run.folder import RunDir, host_name
from doctor.run.patience import touch

if TYPE_CHECKING:
    from doctor.monitors.guard.guard import Guard

#: before so many steps nobody knows what is usual, and the first ones load, compile and capture
_STEPS = 3

#: until then: torch's and transformers' own limit for a collective (`ddp_timeout`)
FIRST_S = 1800.0

_WINDOW = 500

#: of the longest step seen: where a generation serves many steps, the one that makes it takes as long as all of them
_LONGEST_TIMES = 2.0

_TICK_S, _TICKS = 5.0, 20  # the thread looks every 5 s, or 20 times in the shortest limit
_SETTLE_S = 10.0  # other ranks notice at their own tick
_LATE_S = 20.0  # some time after that on a busy machine, or where a file system shows late what other nodes write

#: a gap between two looks of so many ticks: the process was stopped, or the machine slept
_PAUSED_TICKS = 4

#: name of the folder among the run's hangs for what the guards tell; `doctor.hang.watching` looks there
_CAPSULES = "guard"

_MAY_BE_OVER = Observed.quoted(
    "guard", "the end of a custom loop is not visible: call `close()` on the return value of `doctor.watch`"
)

Probe = Callable[[], Optional[Finding]]


class StuckWatch:
    """A thread of its own that looks whether steps are made.

    Args:
        guard: of this process; its alarm is asked for nothing but a warning, for a rank that waits can carry out none.
        factor: no step for so many times the median step, and for twice the longest one, means that the run is stuck,
        at_least_s: and for no less than so many seconds.
        first_s: limit in seconds until the median is known, and while somebody saves, evaluates or compiles.
        probes: asked once at half the limit, in this thread: what they find is an alarm (a server that is dead).
        goes_on: whether the training does; asked before anybody is alarmed. None: it does until `close`.

    """

    def __init__(
        self,
        guard: Guard,
        factor: float = 10.0,
        at_least_s: float = 120.0,
        *,
        first_s: float = FIRST_S,
        probes: tuple[Probe, ...] = (),
        goes_on: Optional[Callable[[], bool]] = None,
    ) -> None:
        self._goes_on = goes_on
        self.probes: list[Probe] = list(probes)
        #: called in this thread whenever it looks
        self.on_tick: list[Callable[[], object]] = []
        self._guard, self._factor, self._at_least_s, self._first_s = guard, factor, at_least_s, first_s
        self._steps: deque[float] = deque(maxlen=_WINDOW)
        self._step: Optional[int] = None
        self._stepped_s = self._alive_s = self._looked_s = time.monotonic()
        self._asked = self._told = False
        self._ended = threading.Event()
        self._held: Optional[IO[str]] = None
        self._arming = threading.RLock()  # again by the same thread: a signal may close it while it is being closed
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._look_on, name="doctor-stuck", daemon=True)
        self._thread.start()

    def beat(self, step: int) -> None:
        """Tell that the process lives; a step that is newer than the last one counts as a step made."""
        now = time.monotonic()
        if self._step is not None and step > self._step:
            self._steps.append((now - self._stepped_s) / (step - self._step))
        if self._step is None or step != self._step:
            self._step, self._stepped_s = step, now
            self._asked = self._told = False
        self._alive_s = now

    @property
    def usual_s(self) -> Optional[float]:
        """What a step takes; None while too few were made."""
        steps = list(self._steps)
        return median(steps) if len(steps) >= _STEPS else None

    @property
    def limit_s(self) -> float:
        """Seconds without a sign of life after which the run is called stuck."""
        usual = self.usual_s
        if usual is None:
            return self._first_s
        return max(self._factor * usual, _LONGEST_TIMES * max(self._steps), self._at_least_s)

    @property
    def _tick_s(self) -> float:
        return min(_TICK_S, min(self._at_least_s, self._first_s) / _TICKS)

    @property
    def _settle_s(self) -> float:
        return min(_SETTLE_S, self.limit_s / 4)

    def close(self) -> None:
        """End the thread; it does not wait for it."""
        self._ended.set()
        if os.getpid() != self._pid:  # a fork has no such thread and no watchdog, and the file is its parent's
            return
        with suppress(Exception):
            touch(self._disarm, None)

    def _look_on(self) -> None:
        while not self._ended.wait(self._tick_s):
            if os.getpid() != self._pid:
                return
            for each in self.on_tick:
                each()
            self._look()

    @shielded
    def _look(self) -> None:
        limit, now = self.limit_s, time.monotonic()
        if now - self._looked_s > _PAUSED_TICKS * self._tick_s + 1:
            self._alive_s = now
        self._looked_s = now
        quiet = now - self._alive_s
        if quiet > limit / 2 and self._goes_on is not None and not self._goes_on():
            self.close()
            return
        if quiet > limit / 2 and not self._asked:
            self._asked = True
            self._ask()
        if quiet > limit and not self._told:
            frames = stacks.of_main()
            if quiet > self._first_s or not stacks.is_long(frames):
                self._told = True
                self._tell(quiet, frames)
        self._arm(max(limit - quiet, 0) + limit / 2 + self._settle_s)

    def _ask(self) -> None:
        for probe in self.probes:
            finding = probe()
            if finding is not None:
                self._guard.alarm(finding, Policy.WARN)  # who stands still can carry out nothing

    def _tell(self, quiet: float, frames: Sequence[Frame]) -> None:
        """Say where this rank stands; the first rank that spoke says for all who is behind."""
        guard = self._guard
        file = self._write()
        standing = Standing(
            guard.rank, guard.world_size, self._step, quiet, self.usual_s, frames, host_name(), self._pid, file
        )
        if guard.events is not None:
            guard.events.write("hang", step=standing.step, **standing.as_data())
        since_ns = time.time_ns() - int(self.limit_s * 1e9)
        self._write_more(Path(file))  # which takes long, and other ranks wait for that event
        self._arm(self._settle_s + _LATE_S + self.limit_s / 2)
        self._ended.wait(self._settle_s)
        spoken = self._spoken(standing, since_ns)
        finding = None if self._ended.is_set() else self._judged(standing, spoken)
        if finding is not None:
            self._say(finding)

    def _say(self, finding: Finding) -> None:
        """Warn. The guard's `alarm` would call it this rank's own and note a policy, which nobody could carry out."""
        guard = self._guard
        guard.findings.append(finding)
        guard.alerts.say(finding, Policy.WARN)
        if guard.rank != 0:  # rank 0, which talks to the console, does not answer
            guard.alerts.print(guard.alerts.text(finding, Policy.WARN))

    def _spoken(self, mine: Standing, since_ns: int) -> list[Standing]:
        """What the ranks say; those that have not spoken yet are waited for, by the one rank that speaks for all."""
        run, end = self._guard.run, time.monotonic() + _LATE_S
        spoken = [mine]
        while run is not None:
            spoken = [mine, *self._heard(run, since_ns)]
            ranks = {each.rank for each in spoken}
            if min(ranks) != mine.rank or len(ranks) >= mine.world_size or self._goes_on_since(mine):
                break
            if time.monotonic() > end or self._ended.wait(self._tick_s):
                break
        return spoken

    def _goes_on_since(self, mine: Standing) -> bool:
        return time.monotonic() - self._alive_s < mine.seconds

    @staticmethod
    def _heard(run: RunDir, since_ns: int) -> Iterator[Standing]:
        for event in run.read_events():
            if event["kind"] == "hang" and event["t_ns"] >= since_ns:
                with suppress(KeyError, TypeError, ValueError):
                    yield standing_of(event)

    def _judged(self, mine: Standing, spoken: Sequence[Standing]) -> Optional[Finding]:
        """What all ranks that spoke say together; None where another rank says it, or where the run goes on."""
        if self._goes_on_since(mine) or min(each.rank for each in spoken) != mine.rank:
            return None
        standstill = judge(spoken)
        if standstill is None:
            return None
        finding = of_standstill(standstill)
        if self._goes_on is None and not standstill.behind:  # the loop may be over, and the program busy elsewhere
            return replace(finding, severity=WARNING, evidence=(*finding.evidence, _MAY_BE_OVER))
        return finding

    def _folder(self) -> Path:
        run = self._guard.run
        if run is None:
            return Path(tempfile.mkdtemp(prefix="doctor-stacks-"))
        folder = run.path / "stacks"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _write(self) -> str:
        """Stacks of this process in a file; its path."""
        folder = self._folder()
        name = f"rank{self._guard.rank}-{host_name()}-{self._pid}"
        path = folder / f"{name}.txt"
        path.write_text(stacks.of_process(), encoding="utf-8", errors="replace")
        return str(path)

    def _write_more(self, beside: Path) -> None:
        """What this process holds, native frames and NCCL's recorder, where there are any."""
        with suppress(Exception):
            from doctor.monitors.capsule import capture

            capture.stand(_CAPSULES)
        with suppress(Exception):
            stacks.py_spy(beside.with_name(f"{beside.stem}-native.txt"))
        with suppress(Exception):
            flight.dump(beside.parent, self._guard.rank)

    def _arm(self, seconds: float) -> None:
        """Have the interpreter's own watchdog dump the stacks should this thread not run until then.

        That is so where C code holds the interpreter's lock. There is one such watchdog a process, and nothing tells
        whether the program set it, so ours is set only where the launcher or the program gave a run folder.
        """
        with self._arming:
            if self._guard.run is None or self._ended.is_set():
                return
            if self._held is None:
                path = self._folder() / f"rank{self._guard.rank}-{host_name()}-{self._pid}-lock.txt"
                self._held = path.open("w", encoding="utf-8")
            faulthandler.dump_traceback_later(seconds, exit=False, file=self._held)

    def _disarm(self) -> None:
        """Not while the thread arms it: a watchdog that stays writes into whatever gets the file's number next."""
        with self._arming:
            if self._held is None:
                return
            faulthandler.cancel_dump_traceback_later()
            held, self._held = self._held, None
            empty = held.tell() == 0 and os.fstat(held.fileno()).st_size == 0
            held.close()
            if empty:
                Path(held.name).unlink()
