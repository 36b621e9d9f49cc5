"""Judges sleep-keeps-memory (MEM025), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.series import Point, rule
from doctor.catalogue.signature import Hits
from doctor.catalogue.usage_rules import gpu_of, place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
LOG_MESSAGE = TOML["log"]


#: MiB that stay: healthy engines were seen to keep 1.1 to 4.3 GiB, broken ones 16 GiB of a card of 24 GiB, and more
LEAST_KEPT_MIB = 8 * 1024.0
#: shares of what the engine held awake: that stays, and by which it falls (a broken sleep still freed a quarter)
LEAST_KEPT, LEAST_FALL = 0.2, 0.2
#: turns that are a habit, and the share of them at which the memory fell
FEWEST_FALLS, MOST_TURNS = 3, 0.5
#: in a log: GiB that are next to nothing, less than the weights of the smallest models that people train
NOTHING_GIB = 0.25


class Engine:
    """Turns of one vLLM process on one card: most that it held awake, then the least that it held asleep, in MiB."""

    def __init__(self) -> None:
        self._awake: Optional[float] = None
        self._asleep: Optional[float] = None
        self.turns = self.falls = 0
        self.high = self.low = 0.0

    def see(self, mib: float, *, asleep: bool) -> None:
        """Take one sample in."""
        if asleep:
            if self._awake is not None:
                self._asleep = mib if self._asleep is None else min(self._asleep, mib)
            return
        self.close()
        self._awake = mib if self._awake is None else max(self._awake, mib)

    def close(self) -> None:
        """End the turn, when there is one; the least of all falls counts, so that no turn is overstated."""
        if self._awake is None or self._asleep is None:
            return
        self.turns += 1
        if self._asleep <= (1 - LEAST_FALL) * self._awake:
            if not self.falls or self._asleep < self.low:
                self.high, self.low = self._awake, self._asleep
            self.falls += 1
        self._awake = self._asleep = None

    @property
    def keeps(self) -> bool:
        """Whether it sleeps as a habit and always keeps much."""
        habit = self.falls >= FEWEST_FALLS and self.falls > MOST_TURNS * self.turns
        return habit and self.low >= max(LEAST_KEPT_MIB, LEAST_KEPT * self.high)


@rule(PROBLEM, needs=("gpu/*_awake_mib", "gpu/*_asleep_mib"))
class SleepKeepsMemory:
    """Follows the memory of each vLLM process on each card through the turns of the run."""

    wants = ("gpus", "roles", "engines")

    def __init__(self) -> None:
        self._engines: dict[str, Engine] = {}
        self._first: dict[str, Point] = {}

    def update(self, point: Point) -> Optional[Finding]:
        """Take one sample of an engine in: `gpu/<label>/vllm_<pid>_awake_mib` or `..._asleep_mib`."""
        begin, _, state = point.name.removesuffix("_mib").rpartition("_")
        if "/vllm_" in begin:
            self._first.setdefault(begin, point)
            self._engines.setdefault(begin, Engine()).see(point.value, asleep=state == "asleep")
        return None

    def finish(self) -> Optional[Finding]:
        """The engine that keeps most, if any keeps much."""
        for engine in self._engines.values():
            engine.close()
        keeping = {name: engine for name, engine in self._engines.items() if engine.keeps}
        if not keeping:
            return None
        name = max(keeping, key=lambda each: keeping[each].low)
        worst = keeping[name]
        kept, awake = f"{worst.low / 1024:.1f}", f"{worst.high / 1024:.1f}"
        text = f"process {name.rpartition('_')[2]}: {kept} GiB asleep, {awake} GiB awake; so on {len(keeping)} GPU(s)"
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, kept=kept, awake=awake, gpu=gpu_of(name), falls=worst.falls,
            turns=worst.turns, **place(self._first[name], text),
        )  # fmt: skip


def explain(hits: Hits) -> Finding | None:
    """Only where the sleeps freed next to nothing: else the card may be in use by the trainer, as it should be."""
    empty = []
    for hit in hits:
        freed, used = float(hit.groups["freed"]), float(hit.groups["used"])
        if used * 1024 >= LEAST_KEPT_MIB and freed < NOTHING_GIB:
            empty.append(hit)
    if len(empty) <= len(hits.kept) / 2:
        return None
    first = empty[0]
    return found(
        PROBLEM, LOG_MESSAGE, confidence=LIKELY, freed=first.groups["freed"], used=first.groups["used"],
        times=len(empty), lines=len(hits.kept), where=Where(file=first.file, line=first.line, rank=first.rank),
        evidence=(Observed.quoted(first.file, first.text[:500], first.line),),
    )  # fmt: skip
