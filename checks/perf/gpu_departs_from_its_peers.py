"""Judges gpu-departs-from-its-peers (PRF017), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

from doctor.base.stats import Window
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.series import Point, rule
from doctor.catalogue.usage_rules import gpu_of, place
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MORE = TOML["more"]
LESS = TOML["less"]


#: percent of activity, of the card or of its peers, that counts as work; points of departure; share of the seconds in
#: which it departs to the same side by half of that; seconds of work; share of peers that depart where work differs
WORKING, APART, SAME_SIDE, LEAST_S, MOST_SHARE = 20.0, 20.0, 0.8, 60.0, 0.25
FEWEST, KEPT, NAMED = 3, 512, 4


class _Departure(NamedTuple):
    gpu: str
    own: float
    others: float
    side: bool  # more than the others
    phase: str


class _Card:
    """One card beside the median of its peers, bin by bin."""

    def __init__(self) -> None:
        self.own, self.others, self.apart = Window(KEPT), Window(KEPT), Window(KEPT)
        self.bins = self.above = self.below = 0
        self.phases: dict[str, float] = {}

    def push(self, own: float, others: float, phase: str) -> None:
        """Take one bin in."""
        if max(own, others) < WORKING:
            return
        self.bins += 1
        self.own.push(own)
        self.others.push(others)
        self.apart.push(own - others)
        self.above += own - others >= APART / 2
        self.below += others - own >= APART / 2
        self.phases[phase] = self.phases.get(phase, 0.0) + own - others


@rule(PROBLEM, needs=("usage/bin_s", "usage/phase/*", "gpu/*/activity_pct", "gpu/*/peers", "gpu/*/peers_pct"))
class GpuDepartsFromItsPeers:
    """Keeps the cards for which the report tells the median of their peers."""

    wants = ("gpus",)

    def __init__(self) -> None:
        self._bin_s = 1.0
        self._phase: tuple[str, Optional[int]] = ("", None)
        self._activity: dict[str, Point] = {}
        self._peers: dict[str, int] = {}
        self._cards: dict[str, _Card] = {}
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Put the median of the peers beside the card's own activity of the same bin."""
        if point.name == "usage/bin_s":
            self._bin_s = point.value
        elif point.name.startswith("usage/phase/"):
            self._phase = point.name[len("usage/phase/") :], point.step
        elif point.name.endswith("/activity_pct"):
            self._activity[gpu_of(point.name)] = point
        elif point.name.endswith("/peers") and math.isfinite(point.value):
            self._peers[gpu_of(point.name)] = int(point.value)
        elif point.name.endswith("/peers_pct"):
            gpu = gpu_of(point.name)
            own = self._activity.get(gpu)
            if own is not None and own.step == point.step:
                phase = self._phase[0] if self._phase[1] == point.step else ""
                self._cards.setdefault(gpu, _Card()).push(own.value, point.value, phase)
                self._last = point
        return None

    def finish(self) -> Optional[Finding]:
        """The cards that depart, most of all those of the first one's node and side."""
        apart = sorted(self._departures(), key=lambda each: -abs(each.own - each.others))
        if not apart or self._last is None:
            return None
        first, peers = apart[0], self._peers.get(apart[0].gpu, 0)
        if peers < FEWEST or len(apart) > max(1.0, MOST_SHARE * (peers + 1)):
            return None
        host = first.gpu.rpartition(":")[0]
        same = [each for each in apart if each.side == first.side and each.gpu.rpartition(":")[0] == host]
        text = "; ".join(f"GPU {each.gpu}: {each.own:.0f} %, peers {each.others:.0f} %" for each in apart[: 2 * NAMED])
        where = place(Point(f"gpu/{first.gpu}/peers_pct", 0.0, None, source=self._last.source), text)
        if len(same) > 1:
            where = {"where": Where(file=where["where"].file, host=host or None), "evidence": where["evidence"]}
        names = ",".join(each.gpu for each in same[:NAMED]) + (",..." if len(same) > NAMED else "")
        return found(
            PROBLEM, MORE if first.side else LESS, confidence=LIKELY, **where, peers=peers - len(same) + 1,
            which=f"GPU {names}:", own=f"{first.own:.0f}", others=f"{first.others:.0f}",
            phase=f" (`{first.phase}`)" if first.phase else "",
        )  # fmt: skip

    def _departures(self) -> list[_Departure]:
        apart = []
        for gpu, card in self._cards.items():
            difference = card.apart.median if card.bins else 0.0
            side = difference > 0
            steady = (card.above if side else card.below) >= SAME_SIDE * card.bins
            if card.bins * self._bin_s >= LEAST_S and abs(difference) >= APART and steady:
                phase = max(card.phases, key=lambda name: abs(card.phases[name]))
                apart.append(_Departure(gpu, card.own.median, card.others.median, side, phase))
        return apart
