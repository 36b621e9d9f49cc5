"""Starts the sampler beside a run, and ends it."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from doctor.base.own_start import own_module
from doctor.run.folder import RunDir

#: it has a second's tick to end, and the worker below it as much; nodes of a cluster some seconds
END_S, END_OF_ALL_S = 5.0, 18.0


@dataclass(frozen=True)
class SamplingWishes:
    """What the user wants to be sampled, and how."""

    interval_s: float | None = None  # None: as often as the sampler's own budget lets it, from 0.1 on
    gpus: str = ""
    csv: Path | None = None
    dcgm: str | None = None
    for_s: float | None = None
    notes: tuple[str, ...] = ()
    tree: int | None = None  # process whose tree is sampled, where it is not the one that is watched

    def options(self) -> list[str]:
        """The sampler's own options."""
        words = ["--interval", str(self.interval_s)] if self.interval_s else []
        words += ["--gpus", self.gpus] if self.gpus else []
        words += ["--csv", str(self.csv)] if self.csv else []
        words += ["--dcgm", self.dcgm] if self.dcgm else []
        words += ["--tree", str(self.tree)] if self.tree is not None else []
        words += [word for note in self.notes for word in ("--note", note)]
        return words + (["--for-s", str(self.for_s)] if self.for_s is not None else [])


def start(run: RunDir, wishes: SamplingWishes, watch: int | None = None) -> subprocess.Popen[bytes]:
    """The sampler as a process of its own, out of reach of the terminal's Ctrl-C.

    Args:
        run: the run folder.
        wishes: of the user.
        watch: process whose tree is sampled and with which it ends.

    """
    command = [*own_module("doctor.monitors.sampler.sampling"), "--run", str(run.path), *wishes.options()]
    command += ["--watch", str(watch)] if watch is not None else []
    # not in the command's working directory: its disk may go, and a `queue.py` that lies there is not ours to import
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True, cwd="/", env=_elsewhere()
    )


def _elsewhere() -> dict[str, str]:
    """The environment for a process that starts in another folder: what is imported is found as from here."""
    folders = os.environ.get("PYTHONPATH")
    told = {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, folders.split(os.pathsep)))} if folders else {}
    return {**os.environ, **told, "PYTHONSAFEPATH": "1"}


def start_over_ray(
    run: RunDir, wishes: SamplingWishes, address: str, python: str, watch: int | None = None
) -> subprocess.Popen[bytes]:
    """A sampler on each node of a Ray cluster, and the process that gathers what they tell; see `start`.

    Args:
        run: the run folder.
        wishes: of the user.
        address: of the cluster.
        python: interpreter that has Ray.
        watch: process with which all of them end.

    """
    command = [*own_module("doctor.cluster.sampling"), "--run", str(run.path), "--ray", address]
    command += ["--python", python, *(["--watch", str(watch)] if watch is not None else [])]
    command += ["--", *wishes.options()]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)


def end(sampler: subprocess.Popen[bytes], wait_s: float = END_S) -> None:
    """Wait for it a little, then leave it to itself: it ends with the run anyway."""
    with suppress(subprocess.TimeoutExpired):
        sampler.terminate()
        sampler.wait(wait_s)
