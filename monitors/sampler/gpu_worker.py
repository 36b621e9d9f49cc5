"""The process that talks to NVML, and to nothing else, so that a driver that hangs takes only this process with it.

Started by the sampler, to which it says on its standard output once a second that it lives. Ends when nobody listens.

How often what is asked goes by what it costs. CPU time of a call on an H100 (driver 580), which spins while it waits
for the card: power 0.1 ms, memory 0.2, clock and reasons less, utilization 0.1; GPM 0.5 (a sample and its difference),
its share of busy time alone 1.8; the buffer of windows 2.8; energy 3.8 and time slowed by heat 1.2. What loses nothing
by waiting waits; the states of this moment come at the pace that was asked for, or else as fast as SHARE lets them.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from doctor.base.record import replace
from doctor.monitors.sampler import columns, xid
from doctor.monitors.sampler.clock import Every, Now, Paced, Stretch, Ticker, now
from doctor.monitors.sampler.dcgm import DEFAULT_URL, Exporter
from doctor.monitors.sampler.gpu_reader import BUSY, GpuReader, open_card
from doctor.monitors.sampler.gpu_states import POWER, SECOND, STATES, CardStates, Cells
from doctor.monitors.sampler.processes import identify, lone_trainer
from doctor.monitors.sampler.table import Row, RowFile, clock_notes, form
from doctor.readers.machine.nvml import DRIVER_NOT_LOADED, UNINITIALIZED, GpuLost, NvmlUnavailable, open_nvml
from doctor.run.folder import Events, RunDir, cell

#: exit codes: there is no GPU; the driver went away
ABSENT, DRIVER_GONE = 5, 6

#: power is new so often, nobody needs the other states oftener; and what changes seldom or costs much
POWER_S, STATES_S, SECOND_S, SLOW_S, LINKS_S, RETRY_S = 0.1, 0.2, 1.0, 10.0, 30.0, 5.0
#: shares of a core: all of this process, where no interval was asked for; GPM of all cards; the dear counters of all;
#: the buffer of windows of each card
SHARE, GPM_SHARE, DEAR_SHARE, DRAIN_SHARE = 0.004, 0.001, 0.0006, 0.0004
#: seconds that they wait at most for it; the buffer as long as not known better, else for so much of what it holds
GPM_S, DEAR_S, DRAIN_S, DRAIN_PART = 5.0, 60.0, 5.0, 0.7
#: the buffer as documented; one that reaches further back may be left alone for longer
_BUFFER_S = 10.0
_MIB = 1 << 20


class Due(NamedTuple):
    """What the tick of a second reads beside what every one does."""

    gpm: bool
    drain: bool
    slow: bool
    dear: bool
    last: bool


@dataclass
class Spent:
    """CPU seconds of this process in calls that are paced by them, all cards together."""

    gpm_s: float = 0.0
    drain_s: float = 0.0
    dear_s: float = 0.0


class Slot:
    """One GPU of the machine: its reader, or when to try it again."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.reader: GpuReader | None = None
        self.power_form = self.states_form = self.busy_form = ""  # rows that tell POWER, STATES, BUSY
        self.who: dict[str, str] = {}  # the cells that name the card
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
        interval_s: from tick to tick, as was asked for; None: whatever is within SHARE, from POWER_S on.
        root: process of the run whose tree is watched; None: none.

    """

    def __init__(
        self,
        run: RunDir,
        csv: Path,
        wanted: frozenset[int] | None,
        exporter_url: str | None,
        notes: Sequence[str] = (),
        interval_s: float | None = None,
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
        self._take_stock()
        self.exporter = self._exporter(exporter_url)
        own = run.path in csv.parents
        self.table = RowFile(csv, columns.GPU, [*self._notes(), *clock_notes(begun), *notes], anew=not own)
        schema = [f"schema {columns.GPU_PROCESS_SCHEMA}"]
        self.processes = RowFile(run.gpu_processes(), columns.GPU_PROCESS, schema, anew=False)
        self.number = -1  # of the tick
        self._paces(interval_s)
        handles = {reader.card.index: reader.card.handle for reader in self.readers}
        watched = xid.watch(self.nvml, handles, self._xid)
        self.events.write(
            "monitor", what="gpus", gpus=sorted(handles), xids_watched=watched, sources=self._sources(),
            cards=self._cards(handles),
            busy_period_s={str(reader.card.index): reader.busy_period_s for reader in self.readers},
        )  # fmt: skip

    def _cards(self, handles: Mapping[int, Any]) -> dict[str, dict[str, Any]]:
        """Index -> name and memory (MiB) of each card, None where the driver does not tell."""
        found = {}
        for index, handle in handles.items():
            memory = self.nvml.query("nvmlDeviceGetMemoryInfo", handle)
            name = self.nvml.query("nvmlDeviceGetName", handle)
            found[str(index)] = {
                "name": name.decode("utf-8", "replace") if isinstance(name, bytes) else name,
                "memory_total_mib": None if memory is None else int(memory.total) >> 20,
            }
        return found

    def _paces(self, interval_s: float | None) -> None:
        """How often what is read, to begin with."""
        self.tick_s = interval_s or POWER_S
        self.power_ticks, self.states_ticks = (max(1, round(each / self.tick_s)) for each in (POWER_S, STATES_S))
        self.second, self.slow = Every(SECOND_S), Every(SLOW_S)
        reach = min((reader.busy_depth_s for reader in self.readers), default=0.0)
        self.gpm = Paced(GPM_SHARE, GPM_S)
        self.dear = Paced(DEAR_SHARE, DEAR_S, SLOW_S)
        self.drain = Paced(DRAIN_SHARE, DRAIN_PART * reach if reach > _BUFFER_S else DRAIN_S)
        self.stretch = None if interval_s else Stretch(SHARE)
        self.states_spent_s = 0.0
        self.judged_at = time.monotonic(), time.process_time()

    def _take_stock(self) -> None:
        """Which cards answer now."""
        self.answering = [slot for slot in self.slots if slot.reader is not None]
        self.readers = [slot.reader for slot in self.slots if slot.reader is not None]
        self.states = CardStates(self.nvml, self.readers)

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
            self._lost(slot, exc.code)
            return
        ident = {"gpu": card.index, "uuid": card.uuid}
        slot.who = {name: cell(value) for name, value in ident.items() if value is not None}
        slot.power_form, slot.states_form, slot.busy_form = (
            form(columns.GPU, ident, told) for told in (POWER, STATES, BUSY)
        )
        if slot.lost:
            slot.lost = False
            self.events.write("gpu", what="back", gpu=slot.index)

    def _lost(self, slot: Slot, code: int) -> None:
        slot.reader = None
        slot.retry.due(time.monotonic())
        if not slot.lost:
            slot.lost = True
            self.events.write("gpu", what="lost", gpu=slot.index, code=code)

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
            self._try_lost(at)
            slow = self.slow.due(at.mono_s)
            lines = self._second(at, slow=slow)
            if slow:
                self._keep_within_share(at)
        elif full or self.number % self.power_ticks == 0:
            lines = self._states(at, full=full)
        if self.exporter is not None:
            lines += [self.table.line(*row) for row in self._from_exporter(self.exporter, at)]
        self._append("".join(lines))

    def last(self, at: Now) -> None:
        """Everything once more, so that totals and the driver's buffer reach to the end of the run."""
        self._append("".join(self._second(at, slow=True, last=True)))

    def _try_lost(self, at: Now) -> None:
        """Cards that were lost are tried again."""
        gone = [slot for slot in self.slots if slot.reader is None and slot.retry.due(at.mono_s)]
        for slot in gone:
            self._open(slot)
        if any(slot.reader is not None for slot in gone):
            self._take_stock()

    def _keep_within_share(self, at: Now) -> None:
        """Ask for states less often, or oftener again, by what this process costs."""
        if self.stretch is None:
            return
        (before_s, cpu_before_s), self.judged_at = self.judged_at, (at.mono_s, time.process_time())
        states_s, self.states_spent_s = self.states_spent_s, 0.0
        passed_s = at.mono_s - before_s
        if passed_s < SLOW_S / 2:
            return
        others_s = self.judged_at[1] - cpu_before_s - states_s
        if self.stretch.judge(states_s / passed_s, others_s / passed_s):
            self.tick_s = POWER_S * self.stretch.factor
            states_s = min(SECOND_S, self.states_ticks * self.tick_s)
            self.events.write("monitor", what="states paced", power_every_s=self.tick_s, states_every_s=states_s)

    def _of_cards(self, columns: list[Cells]) -> Iterable[tuple[Slot, tuple[str, ...]]]:
        """Cells of each card; cards that do not answer any more are left out, now and from here on."""
        rows = zip(self.answering, zip(*columns))  # noqa: B905 - Python 3.9 has no strict=
        if not self.states.lost:
            return rows
        told = [row for place, row in enumerate(rows) if place not in self.states.lost]
        for place, code in self.states.lost.items():
            self._lost(self.answering[place], code)
        self._take_stock()
        return told

    def _states(self, at: Now, *, full: bool) -> list[str]:
        """Lines of an ordinary tick."""
        began = time.thread_time()
        stamp = self.table.stamp(at)
        if full:
            lines = [stamp + slot.states_form % cells for slot, cells in self._of_cards(self.states.states())]
        else:
            lines = [stamp + slot.power_form % cells for slot, cells in self._of_cards(self.states.power())]
        self.states_spent_s += time.thread_time() - began
        return lines

    def _due(self, at: Now, *, slow: bool, last: bool) -> Due:
        dear = last or self.dear.due(at.mono_s)
        gpm = self.gpm.due(at.mono_s) or dear  # the dear metric of GPM comes with the others
        return Due(gpm, last or self.drain.due(at.mono_s), slow, dear, last)

    def _second(self, at: Now, *, slow: bool, last: bool = False) -> list[str]:
        """Lines of the tick that comes once a second."""
        spent = Spent()
        due = self._due(at, slow=slow, last=last)
        lines: list[str] = []
        for place, row in self.states.of_instances():
            lines.append(self.table.told(at, {**self.answering[place].who, **row}))
        only_mean_power = self.states.without_power()
        for slot, cells in self._of_cards([*self.states.states(), *self.states.second()]):
            row = dict(zip((*STATES, *SECOND), cells))  # noqa: B905 - Python 3.9 has no strict=
            reader = slot.reader
            if reader is None:
                continue
            try:
                if slot.index in only_mean_power:
                    row["power_w"] = reader.mean_power()
                lines += self._lines(slot, reader, row, at, due, spent)
            except GpuLost as exc:
                self._lost(slot, exc.code)
        if any(slot.reader is None for slot in self.answering):
            self._take_stock()
        self._pace(due, spent)
        return lines

    def _append(self, text: str) -> None:
        was_full = self.table.full
        self.table.append(text)
        if self.table.full != was_full:
            self.events.write(
                "monitor", what="disk full" if self.table.full else "room again", rows_lost=self.table.lost
            )

    def _pace(self, due: Due, spent: Spent) -> None:
        """How soon what is paced by its cost comes again."""
        before = self.gpm.period_s
        if due.gpm and not due.dear:
            self.gpm.spent(spent.gpm_s)
        if due.drain:
            self.drain.spent(spent.drain_s / max(1, len(self.slots)))
        if due.dear:
            self.dear.spent(spent.dear_s + spent.gpm_s)
        if self.gpm.period_s != before:
            self.events.write("monitor", what="gpm paced", every_s=self.gpm.period_s)

    def _lines(self, slot: Slot, reader: GpuReader, row: dict[str, str], at: Now, due: Due, spent: Spent) -> list[str]:
        """Lines of one card: the windows of the driver, its instances, itself.

        Raises:
            GpuLost: it does not answer any more.

        """
        lines = self._windows(slot, reader, row, at, due, spent)
        if due.gpm:
            began = time.thread_time()
            means, of_instances = reader.means(now(), dear=due.dear)  # their window ends when they are read
            spent.gpm_s += time.thread_time() - began
            row.update(means)
            lines += [self.table.told(when, {**slot.who, **each}) for when, each in of_instances]
        more: dict[str, Any] = {}
        if due.dear:
            began = time.thread_time()
            more = reader.totals(at.mono_s)
            spent.dear_s += time.thread_time() - began
        if due.slow:
            more.update(reader.slow())
            self._list_processes(reader, at)
            if slot.links.due(at.mono_s):
                self._look_at_links(slot, reader, at)
        row.update((name, cell(value)) for name, value in more.items() if value is not None)
        return [*lines, self.table.told(at, {**slot.who, **row})]

    def _windows(
        self, slot: Slot, reader: GpuReader, row: dict[str, str], at: Now, due: Due, spent: Spent
    ) -> list[str]:
        """Lines of the driver's windows, which hold the busy figure; between two drains `row` has that of now."""
        windows = None
        if due.drain:
            began = time.thread_time()
            windows = reader.drained()
            spent.drain_s += time.thread_time() - began
        if windows is not None or due.last:
            row["gpu_busy_pct"] = ""
        elif row["gpu_busy_pct"]:
            row["busy_source"] = "polled"
        stamps = self.table.stamps(at, [end_ns for end_ns, _ in windows or ()])
        form = slot.busy_form
        return [stamp + form % (busy, "samples") for stamp, (_, busy) in zip(stamps, windows or ())]  # noqa: B905 - Python 3.9 has no strict=

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
    parser = argparse.ArgumentParser(prog="doctor.monitors.sampler.gpu_worker")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--interval", type=float)
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
        _say("absent the driver lists no GPU" + (" of those requested" if wanted else ""))
        return ABSENT
    _sample(worker, chosen.interval or POWER_S)
    return 0


def _sample(worker: Worker, interval_s: float) -> None:
    ticker, alive = Ticker(interval_s), Every(SECOND_S)
    with suppress(_Told):
        signal.signal(signal.SIGTERM, _told)
        while True:
            ticker.wait()
            at = now()
            worker.tick(at)
            ticker.set_period(worker.tick_s)
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
