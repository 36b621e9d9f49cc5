"""The sampler on a node of a Ray cluster: started there, read from afar. Runs in an actor, under Python 3.9 or newer.

The sampler writes into a temporary folder as it does on one machine; what was fetched is punched out of its files, so
that the node's disk holds some seconds of figures, however long the run is. It ends with the actor.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

import doctor
from doctor.base.own_start import own_module
from doctor.monitors.sampler import gpu_worker, sampling  # noqa: F401 - carried: they run in a process of their own
from doctor.run.folder import HOST_VARIABLE

#: of one answer; what is more waits for the next
MOST_BYTES = 8 << 20
_END_S = 7.0  # Ray runs its workers at nice 15, and a busy node has little left for them
_KEEP_SIZE_PUNCH_HOLE = 0x01 | 0x02  # linux/falloc.h


class SampledNode:
    """The sampler of one node.

    Args:
        arguments: "options" (of `doctor.monitors.sampler.sampling`), "name" (of the node in the run).

    """

    def __init__(self, arguments: dict[str, Any]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="doctor-monitor-"))
        self._tails: dict[str, Tail] = {}
        command = [*own_module("doctor.monitors.sampler.sampling"), "--run", str(self._folder)]
        command += [*arguments["options"], "--with-parent", "--temporary"]
        raylet = os.getppid()
        command += ["--watch", str(raylet)] if _name(raylet) == "raylet" else []
        env = {**os.environ, HOST_VARIABLE: arguments["name"], "PYTHONPATH": os.pathsep.join(_path())}
        self._sampler = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=self._folder
        )

    def clock(self) -> float:
        """Seconds since the epoch, by this node."""
        return time.time()

    def read(self) -> dict[str, str]:
        """File of the run folder -> whole lines that are new in it."""
        with suppress(OSError):
            for path in self._folder.glob("*/*"):
                name = f"{path.parent.name}/{path.name}"
                if name not in self._tails:
                    self._tails[name] = Tail(path)
        new = {name: tail.lines() for name, tail in self._tails.items()}
        return {name: text for name, text in new.items() if text}

    def close(self) -> dict[str, str]:
        """End the sampler; what was left to read."""
        self._sampler.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._sampler.wait(_END_S)
        told = self.read()
        shutil.rmtree(self._folder, ignore_errors=True)
        return told


class Tail:
    """One growing file, read from where it was left off, and emptied behind."""

    def __init__(self, path: Path) -> None:
        self._file: Optional[int] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._at = 0

    def lines(self) -> str:
        """Whole lines that are new."""
        data = b"" if self._file is None else os.pread(self._file, MOST_BYTES, self._at)
        data = data[: data.rfind(b"\n") + 1]
        if data and self._file is not None:
            self._at += len(data)
            _empty(self._file, self._at)
        return data.decode("utf-8", "replace")


def _empty(file: int, size: int) -> None:
    """Give back the room of the first bytes; a file system that cannot do this keeps them."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.fallocate(file, _KEEP_SIZE_PUNCH_HOLE, ctypes.c_int64(0), ctypes.c_int64(size))


def _path() -> list[str]:
    """Where the doctor and NVIDIA's binding were imported from, then what was on the path before."""
    folders = [str(Path(doctor.__file__).parents[1])]
    with suppress(ImportError):
        import pynvml

        folders.append(str(Path(pynvml.__file__).parents[1 if Path(pynvml.__file__).stem == "__init__" else 0]))
    return [*folders, *filter(None, [os.environ.get("PYTHONPATH")])]


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""
