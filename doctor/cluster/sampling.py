"""Writes what the samplers of a Ray cluster's nodes tell into one run folder: a process of its own beside the command.

It ends with the command and with the doctor, and the samplers end with it: they hang on its Ray driver. Where there is
no cluster to be reached it says so and samples this machine alone. One writer a file: this process writes the files of
all nodes, and each node has a name of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.base.own_start import own_module
from doctor.cluster.clocks import Comparisons
from doctor.cluster.ray_child import RayChild, RayRefused, Request
from doctor.monitors.sampler.sampling import alive
from doctor.run.appender import Appender
from doctor.run.folder import Events, RunDir

#: longest silence of the Ray driver, which tells something every second; of one node
SILENT_S, NODE_SILENT_S, CLOSE_S = 60.0, 30.0, 12.0
_FILE = re.compile(r"(gpu|host|events)/[A-Za-z0-9._-]+\.(csv|jsonl)")
_TASK = "doctor.cluster.sampled_node:SampledNode"


class Gathered:
    """The run folder of a cluster, written.

    Args:
        run: the folder.
        events: of this process.

    """

    def __init__(self, run: RunDir, events: Events) -> None:
        self._run, self._events = run, events
        self._files: dict[str, Appender] = {}
        self._clocks = Comparisons()
        self.nodes = 0

    def take(self, line: Mapping[str, Any]) -> None:
        """Write what a line of the stream tells."""
        kind, node = line["kind"], line.get("node")
        if kind == "rows":
            for name, text in line["value"].items():
                self._append(name, text)
        elif kind == "clock":
            if best := self._clocks.take(str(node), line["offset_s"], line["error_s"]):
                self._events.write("monitor", what="clock", of=node, offset_s=best[0], error_s=best[1])
        elif kind == "joined":
            self.nodes += sum(each["alive"] for each in line["nodes"])
            told = [{key: each[key] for key in ("id", "name", "address", "alive")} for each in line["nodes"]]
            self._events.write("monitor", what="nodes", nodes=told)
        elif kind in {"lost", "back"}:
            self._events.write("monitor", what=f"node {kind}", of=node, reason=line.get("reason"))

    def _append(self, name: str, text: str) -> None:
        if _FILE.fullmatch(name) is None:  # a node writes into the folder of the run and nowhere else
            return
        if name not in self._files:
            self._files[name] = Appender(self._run.path / name)
        self._files[name].write(text)

    def close(self) -> None:
        """Close all files."""
        for each in self._files.values():
            each.close()


def main(argv: list[str] | None = None) -> int:
    """Gather until the command ends, the doctor is gone, or SIGTERM."""
    parser = argparse.ArgumentParser(prog="doctor.cluster.sampling")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--ray", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--watch", type=int)
    parser.add_argument("options", nargs="*", help="of the sampler on each node")
    chosen = parser.parse_args(argv)
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: _asked(stop, number))
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(5)
    run = RunDir(chosen.run)
    events = Events(run, role="monitor")
    over = _Over(stop, chosen.watch)
    try:
        _gather(_request(chosen), chosen, Gathered(run, events), over)
    except _Stopped:
        return 0
    except RayRefused as exc:
        return 0 if over else _alone(chosen, events, exc)
    return 0


class _Over:
    """True once there is nothing more to sample for: SIGTERM came, the doctor or the command is gone."""

    def __init__(self, stop: list[int], watch: int | None) -> None:
        self._stop, self._watch, self._parent = stop, watch, os.getppid()

    def __bool__(self) -> bool:
        return bool(self._stop) or os.getppid() != self._parent or (self._watch is not None and not alive(self._watch))


class _Stopped(Exception):  # noqa: N818 - an order
    """SIGTERM came before there was anything to end in good order."""


def _asked(stop: list[int], number: int) -> None:
    stop.append(number)
    if "streams" not in _state:
        raise _Stopped


_state: set[str] = set()


def _request(chosen: argparse.Namespace) -> Request:
    return Request(
        chosen.ray, _TASK, {"options": chosen.options}, over="stream", timeout_s=NODE_SILENT_S, deadline_s=SILENT_S,
        more={"close_s": CLOSE_S},
    )  # fmt: skip


def _gather(request: Request, chosen: argparse.Namespace, gathered: Gathered, over: _Over) -> None:
    asked = False
    with RayChild(request, chosen.python) as child:
        for line in child.lines():
            _state.add("streams")
            gathered.take(line)
            if over and not asked:
                asked = True
                child.stop()
    gathered.close()


def _alone(chosen: argparse.Namespace, events: Events, why: RayRefused) -> int:
    """Sample this machine, and say why it is this one alone."""
    events.write("monitor", what="no cluster", reason=str(why))
    events.close()
    told = "are no longer sampled" if "streams" in _state else "cannot be sampled"
    with suppress(OSError):
        sys.stderr.write(f"doctor monitor: the nodes of Ray {told}, this machine alone is: {why}\n")
        sys.stderr.flush()
    command = [*own_module("doctor.monitors.sampler.sampling"), "--run", str(chosen.run), *chosen.options]
    command += ["--watch", str(chosen.watch)] if chosen.watch is not None else []
    os.execv(sys.executable, command)  # noqa: S606 - our own sampler


if __name__ == "__main__":
    sys.exit(main())
