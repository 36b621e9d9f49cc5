"""The process that talks to NVML, and to nothing else, so that a driver that hangs takes only this process with it.

Started by the sampler, to which it says on its standard output once a second that it lives. Ends when nobody listens.

How often what is asked goes by what it costs. CPU time of a call on an H100 (driver 580), which spins while it waits
for the card: power 0.1 ms, memory 0.2, clock and reasons less, utilization 0.1; GPM 0.5 (a sample and its difference),
its share of busy time alone 1.8; the buffer of windows 2.8; energy 3.8 and time slowed by heat 1.2.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from doctor.core.run_dir import Events, RunDir
from doctor.facts._nvml import DRIVER_NOT_LOADED, UNINITIALIZED, GpuLost, NvmlUnavailable, open_nvml
from doctor.monitors import columns, xid
from doctor.monitors.clock import Every, Now, Paced, Ticker, now
from doctor.monitors.dcgm import DEFAULT_URL, Exporter
from doctor.monitors.gpu_reader import BUSY, POWER, STATES, GpuReader, open_card
from doctor.monitors.processes import identify, lone_trainer
from doctor.monitors.table import Row, Table, clock_notes, form

#: exit codes: there is no GPU; the driver went away
ABSENT, DRIVER_GONE = 5, 6

#: power is new so often, nobody needs the other states oftener; and what changes seldom or costs much
POWER_S, STATES_S, SECOND_S, SLOW_S, LINKS_S, RETRY_S = 0.1, 0.2, 1.0, 10.0, 30.0, 5.0
#: shares of a core that GPM of all cards, and the buffer of each, may take; seconds that they wait at most for it
GPM_SHARE, GPM_S, DRAIN_SHARE, DRAIN_S = 0.0025, 5.0, 0.0004, 5.0
#: the buffer as documented; one that reaches further back may be left alone for half of it
_BUFFER_S = 10.0
_MIB = 1 << 20


class Due(NamedTuple):
    """What the tick of a second reads beside what every one does."""

    gpm: bool
    drain: bool
    slow: bool
    last: bool


@dataclass
class Spent:
    """CPU seconds of this process in calls that are paced by them, all cards together."""

    gpm_s: float = 0.0
    drain_s: float = 0.0


class Slot:
    """One GPU of the machine: its reader, or when to try it again."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.reader: GpuReader | None = None
        self.power_form = self.states_form = self.busy_form = ""  # rows that tell POWER, STATES, BUSY
        self.lost = False
        self.retry = Every(RETRY_S)
        self.links, self.links_seen_s = Every(LINKS_S), 0.0


class Worker:
    """Samples all GPUs wanted.

    Args:
        run: the run folder.
        csv: the file of GPU figures.
        wanted: indices; None: all.
        exporter_url: of dcgm-exporter; None: the usual place.
        notes: further comment lines for the head of the file.
        interval_s: from tick to tick.
        root: process of the run whose tree is watched; None: none.

    """

    def __init__(
        self,
        run: RunDir,
        csv: Path,
        wanted: frozenset[int] | None,
        exporter_url: str | None,
        notes: Sequence[str] = (),
        interval_s: float = POWER_S,
        root: int | None = None,
    ) -> None:
        self.root = root
        self.nvml = open_nvml()
        begun = now()
        self.events = Events(run, role="monitor")
        count = self.nvml.query("nvmlDeviceGetCount") or 0
        self.slots = [Slot(index) for index in range(count) if wanted is None or index in wanted]
        for slot in self.slots:
            self._open(slot)
        self.readers = [slot.reader for slot in self.slots if slot.reader is not None]
        self.exporter = self._exporter(exporter_url)
        self.table = Table(csv, columns.GPU, [*self._notes(), *clock_notes(begun), *notes])
        self.processes = Table(run.gpu_processes(), columns.GPU_PROCESS, [f"schema {columns.GPU_PROCESS_SCHEMA}"])
        self.number = -1  # of the tick
        self.power_ticks, self.states_ticks = (max(1, round(each / interval_s)) for each in (POWER_S, STATES_S))
        self.second, self.slow = Every(SECOND_S), Every(SLOW_S)
        reach = min((reader.busy_depth_s for reader in self.readers), default=0.0)
        self.gpm = Paced(GPM_SHARE, GPM_S)
        self.drain = Paced(DRAIN_SHARE, reach / 2 if reach > _BUFFER_S else DRAIN_S)
        handles = {reader.card.index: reader.card.handle for reader in self.readers}
        watched = xid.watch(self.nvml, handles, self._xid)
        self.events.write(
            "monitor", what="gpus", gpus=sorted(handles), xids_watched=watched, sources=self._sources(),
            busy_period_s={str(reader.card.index): reader.busy_period_s for reader in self.readers},
        )  # fmt: skip

    def _exporter(self, url: str | None) -> Exporter | None:
        """Asked where a card has no GPM; the usual place is asked without being told, for it is this machine."""
        if url == "none" or all(reader.has_gpm for reader in self.readers):
            return None
        return Exporter(url or DEFAULT_URL)

    def _sources(self) -> dict[str, str]:
        return {
            str(reader.card.index): "gpm" if reader.has_gpm else "dcgm or none" if self.exporter else "none"
            for reader in self.readers
        }

    def _notes(self) -> list[str]:
        driver = self.nvml.query("nvmlSystemGetDriverVersion")
        notes = [f"schema {columns.GPU_SCHEMA}", f"driver {driver}"]
        sources = self._sources()
        for reader in self.readers:
            card = reader.card
            notes.append(f"gpu {card.index} uuid={card.uuid} sm_source={sources[str(card.index)]} name={card.name}")
            if reader.busy_period_s is not None:
                notes.append(f"gpu {card.index} driver updates busy every {1000 * reader.busy_period_s:.0f} ms")
        if self.exporter:
            parts = urlsplit(self.exporter.url)  # without user and password
            notes.append(f"dcgm {parts.scheme}://{parts.hostname}:{parts.port or 80}{parts.path}")
        return notes

    def _open(self, slot: Slot) -> None:
        try:
            card = open_card(self.nvml, slot.index)
            if card is None:
                return
            slot.reader = GpuReader(self.nvml, card, self._trouble)
        except GpuLost as exc:
            self._lost(slot, exc)
            return
        ident = {"gpu": card.index, "uuid": card.uuid}
        slot.power_form, slot.states_form, slot.busy_form = (
            form(columns.GPU, ident, told) for told in (POWER, STATES, BUSY)
        )
        if slot.lost:
            slot.lost = False
            self.events.write("gpu", what="back", gpu=slot.index)

    def _lost(self, slot: Slot, error: GpuLost) -> None:
        slot.reader = None
        slot.retry.due(time.monotonic())
        if not slot.lost:
            slot.lost = True
            self.events.write("gpu", id="GPU002", what="lost", gpu=slot.index, code=error.code)

    def _trouble(self, card: Any, call: str, code: int) -> None:
        self.events.write("monitor", what="nvml error", gpu=card.index, call=call, code=code)
        if code in (UNINITIALIZED, DRIVER_NOT_LOADED):
            raise SystemExit(DRIVER_GONE)

    def _xid(self, index: int | None, number: int) -> None:
        self.events.write("gpu", what="xid", gpu=index, xid=number)

    def tick(self, at: Now) -> None:
        """Read what is due and append it."""
        self.number += 1
        full = self.number % self.states_ticks == 0
        lines: list[str] = []
        if self.second.due(at.mono_s):
            lines = self._second(at, slow=self.slow.due(at.mono_s))
        elif full or self.number % self.power_ticks == 0:
            lines = self._states(at, full=full)
        if self.exporter is not None:
            lines += [self.table.line(*row) for row in self._from_exporter(self.exporter, at)]
        self._append("".join(lines))

    def last(self, at: Now) -> None:
        """Everything once more, so that totals and the driver's buffer reach to the end of the run."""
        self._append("".join(self._second(at, slow=True, last=True)))

    def _answering(self, at: Now) -> Iterator[tuple[Slot, GpuReader]]:
        """Slots whose card can be read; those that were lost are tried again."""
        for slot in self.slots:
            if slot.reader is None and slot.retry.due(at.mono_s):
                self._open(slot)
            if slot.reader is not None:
                yield slot, slot.reader

    def _states(self, at: Now, *, full: bool) -> list[str]:
        """Lines of an ordinary tick."""
        lines, stamp = [], self.table.stamp(at)
        for slot, reader in self._answering(at):
            try:
                told = slot.states_form % reader.states() if full else slot.power_form % reader.power()
                lines.append(stamp + told)
            except GpuLost as exc:
                self._lost(slot, exc)
        return lines

    def _second(self, at: Now, *, slow: bool, last: bool = False) -> list[str]:
        """Lines of the tick that comes once a second."""
        lines: list[str] = []
        spent = Spent()
        due = Due(last or self.gpm.due(at.mono_s), last or self.drain.due(at.mono_s), slow, last)
        for slot, reader in self._answering(at):
            try:
                lines += self._lines(slot, reader, at, due, spent)
            except GpuLost as exc:
                self._lost(slot, exc)
        if due.gpm:
            self._pace(spent.gpm_s)
        if due.drain:
            self.drain.spent(spent.drain_s / max(1, len(self.slots)))
        return lines

    def _append(self, text: str) -> None:
        was_full = self.table.full
        self.table.append(text)
        if self.table.full != was_full:
            self.events.write(
                "monitor", what="disk full" if self.table.full else "room again", rows_lost=self.table.lost
            )

    def _pace(self, gpm_s: float) -> None:
        before = self.gpm.period_s
        self.gpm.spent(gpm_s)
        if self.gpm.period_s != before:
            self.events.write("monitor", what="gpm paced", every_s=self.gpm.period_s)

    def _lines(self, slot: Slot, reader: GpuReader, at: Now, due: Due, spent: Spent) -> list[str]:
        ident = {"gpu": reader.card.index, "uuid": reader.card.uuid}
        states = zip(STATES, reader.states())  # noqa: B905 - Python 3.9 has no strict=
        row: dict[str, Any] = {name: text for name, text in states if text}
        of_instances: list[tuple[Now, dict[str, Any]]] = []
        if due.gpm:
            began = time.thread_time()
            means, of_instances = reader.means(now())  # their window ends when they are read
            spent.gpm_s += time.thread_time() - began
            row.update(means)
        row.update(reader.second())
        lines = [
            self.table.stamp(at if end_ns is None else at.at(end_ns)) + slot.busy_form % tuple(cells)
            for end_ns, *cells in self._windows(reader, due, spent)
        ]
        if due.slow:
            row.update(reader.slow(at.mono_s))
            self._list_processes(reader, at)
            if slot.links.due(at.mono_s):
                self._look_at_links(slot, reader, at)
        of_instances += [(at, state) for state in reader.instance_states()]
        return [*lines, *(self.table.line(when, {**ident, **each}) for when, each in [*of_instances, (at, row)])]

    def _windows(self, reader: GpuReader, due: Due, spent: Spent) -> list[tuple[int | None, str, str]]:
        """The driver's windows; between two drains that are far apart the figure of now."""
        if not due.drain:
            return reader.polled()
        began = time.thread_time()
        found = reader.drained()
        spent.drain_s += time.thread_time() - began
        return [each for each in found if each[0] is not None] if due.last else found

    def _look_at_links(self, slot: Slot, reader: GpuReader, at: Now) -> None:
        if errors := reader.links.new():
            passed = round(at.mono_s - slot.links_seen_s, 1)
            self.events.write("gpu", what="nvlink", gpu=slot.index, seconds=passed, errors=errors)
        slot.links_seen_s = at.mono_s

    def _list_processes(self, reader: GpuReader, at: Now) -> None:
        rows = []
        for instance, pid, used in reader.processes():
            who = identify(pid)
            if who.role == "other" and self.root is not None and pid == lone_trainer(self.root):
                who = replace(who, role="trainer")
            rows.append(
                (at, {
                    "gpu": reader.card.index, "mig": instance, "pid": pid, "name": who.name, "role": who.role,
                    "rank": who.rank, "memory_used_mib": None if used is None else used // _MIB,
                })
            )  # fmt: skip
        self.processes.write(rows)

    def _from_exporter(self, exporter: Exporter, at: Now) -> list[tuple[Now, Row]]:
        rows: list[tuple[Now, Row]] = []
        while not exporter.answers.empty():
            t_ns, found = exporter.answers.get()
            for reader in self.readers:
                if reader.has_gpm:
                    continue
                for (uuid, instance), values in found.items():
                    if uuid == reader.card.uuid:
                        who = {"gpu": reader.card.index, "uuid": uuid, "mig": instance}
                        rows.append((at.at(t_ns), {**who, **values, "sm_source": "dcgm"}))
        return rows


def main(argv: list[str] | None = None) -> int:
    """Sample until nobody listens."""
    parser = argparse.ArgumentParser(prog="doctor.monitors.gpu_worker")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--interval", type=float, required=True)
    parser.add_argument("--gpus", default="")
    parser.add_argument("--dcgm")
    parser.add_argument("--note", action="append", default=[])
    parser.add_argument("--root", type=int)
    chosen = parser.parse_args(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wanted = frozenset(int(each) for each in chosen.gpus.split(",")) if chosen.gpus else None
    try:
        worker = Worker(RunDir(chosen.run), chosen.csv, wanted, chosen.dcgm, chosen.note, chosen.interval, chosen.root)
    except NvmlUnavailable as exc:
        _say(f"absent {exc}")
        return ABSENT
    if not worker.slots:
        _say("absent the driver lists no GPU" + (" of those asked for" if wanted else ""))
        return ABSENT
    _sample(worker, chosen.interval)
    return 0


def _sample(worker: Worker, interval_s: float) -> None:
    ticker, alive = Ticker(interval_s), Every(SECOND_S)
    with suppress(_Told):
        signal.signal(signal.SIGTERM, _told)
        while True:
            ticker.wait()
            at = now()
            worker.tick(at)
            if alive.due(at.mono_s) and not _say(f"ok {ticker.missed} {worker.table.lost} {time.process_time():.3f}"):
                break
    worker.last(now())


class _Told(BaseException):
    """SIGTERM: it must not wait for the next tick, which may be a minute away."""


def _told(_number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: the last lines are being written
    raise _Told


def _say(text: str) -> bool:
    """Tell the sampler something; False when it is not there any more."""
    try:
        os.write(1, (text.replace("\n", " ") + "\n").encode())
    except OSError:
        return False
    return True


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    code = main()
    sys.stdout.close()
    os._exit(code)  # threads that wait in the driver or in the network hold nobody back
