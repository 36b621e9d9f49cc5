"""The process that talks to NVML, and to nothing else, so that a driver that hangs takes only this process with it.

Started by the sampler, to which it says on its standard output once a second that it lives. Ends when nobody listens.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from doctor.core.run_dir import Events, RunDir
from doctor.facts._nvml import DRIVER_NOT_LOADED, UNINITIALIZED, GpuLost, NvmlUnavailable, open_nvml
from doctor.monitors import columns, xid
from doctor.monitors.clock import Every, Now, Ticker, now
from doctor.monitors.dcgm import DEFAULT_URL, Exporter
from doctor.monitors.gpu_reader import BUSY, STATES, GpuReader, open_card
from doctor.monitors.processes import identify
from doctor.monitors.table import Row, Table, clock_notes, form

#: exit codes: there is no GPU; the driver went away
ABSENT, DRIVER_GONE = 5, 6

SECOND_S, SLOW_S, LINKS_S, RETRY_S = 1.0, 10.0, 30.0, 5.0
_MIB = 1 << 20


class Slot:
    """One GPU of the machine: its reader, or when to try it again."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.reader: GpuReader | None = None
        self.states_form = self.busy_form = ""  # rows that tell STATES, BUSY
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

    """

    def __init__(
        self,
        run: RunDir,
        csv: Path,
        wanted: frozenset[int] | None,
        exporter_url: str | None,
        notes: Sequence[str] = (),
    ) -> None:
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
        self.second, self.slow = Every(SECOND_S), Every(SLOW_S)
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
        slot.states_form, slot.busy_form = (form(columns.GPU, ident, told) for told in (STATES, BUSY))
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
        second = self.second.due(at.mono_s)
        slow = second and self.slow.due(at.mono_s)
        lines: list[str] = []
        stamp = self.table.stamp(at)
        for slot in self.slots:
            if slot.reader is None and slot.retry.due(at.mono_s):
                self._open(slot)
            if slot.reader is not None:
                try:
                    if second:
                        lines += self._lines(slot, slot.reader, at, slow=slow)
                    else:
                        lines.append(stamp + slot.states_form % slot.reader.states())
                except GpuLost as exc:
                    self._lost(slot, exc)
        if self.exporter is not None:
            lines += [self.table.line(*row) for row in self._from_exporter(self.exporter, at)]
        self._append("".join(lines))

    def _append(self, text: str) -> None:
        was_full = self.table.full
        self.table.append(text)
        if self.table.full != was_full:
            self.events.write(
                "monitor", what="disk full" if self.table.full else "room again", rows_lost=self.table.lost
            )

    def _lines(self, slot: Slot, reader: GpuReader, at: Now, *, slow: bool) -> list[str]:
        """Lines of the tick that comes once a second."""
        ident = {"gpu": reader.card.index, "uuid": reader.card.uuid}
        states = zip(STATES, reader.states())  # noqa: B905 - Python 3.9 has no strict=
        moment = now()  # the window of the means ends when they are read
        row, of_instances = reader.second(moment)
        row.update((name, text) for name, text in states if text)
        lines = [
            self.table.stamp(at if end_ns is None else at.at(end_ns)) + slot.busy_form % tuple(cells)
            for end_ns, *cells in reader.drained()
        ]
        if slow:
            row.update(reader.slow())
            self._list_processes(reader, at)
            if slot.links.due(at.mono_s):
                self._look_at_links(slot, reader, at)
        of_instances += [(at, state) for state in reader.instance_states()]
        return [*lines, *(self.table.line(when, {**ident, **each}) for when, each in [*of_instances, (at, row)])]

    def _look_at_links(self, slot: Slot, reader: GpuReader, at: Now) -> None:
        if errors := reader.links.new():
            passed = round(at.mono_s - slot.links_seen_s, 1)
            self.events.write("gpu", what="nvlink", gpu=slot.index, seconds=passed, errors=errors)
        slot.links_seen_s = at.mono_s

    def _list_processes(self, reader: GpuReader, at: Now) -> None:
        rows = []
        for instance, pid, used in reader.processes():
            who = identify(pid)
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
    chosen = parser.parse_args(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wanted = frozenset(int(each) for each in chosen.gpus.split(",")) if chosen.gpus else None
    try:
        worker = Worker(RunDir(chosen.run), chosen.csv, wanted, chosen.dcgm, chosen.note)
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
    while True:
        ticker.wait()
        at = now()
        worker.tick(at)
        if alive.due(at.mono_s) and not _say(f"ok {ticker.missed} {worker.table.lost} {time.process_time():.3f}"):
            return


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
