"""Where a rehearsal's writes go: into an overlay where the system permits one, else nowhere beyond its own folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from doctor.base.asking import asked
from doctor.base.record import record, replace
from doctor.rehearse.enter import HELD

_PROGRAM = Path(__file__).with_name("enter.py")
_TRY_S = 20.0


@record
class Apart:
    """How writes are held.

    Args:
        layers: folder of the overlay's layers; None where there is no overlay.
        why: what the system says of one, where there is none.

    """

    root: Path
    layers: Path | None = None
    why: str = ""

    @property
    def held(self) -> bool:
        """Whether an overlay holds every write."""
        return self.layers is not None

    def around(self, argv: Sequence[str], cwd: Path) -> list[str]:
        """The command that becomes `argv` where its writes are held."""
        if self.layers is None:
            return list(argv)
        return [*_entering(self.root, self.layers, cwd), *argv]

    def beside(self) -> Apart:
        """The same with layers of its own, for a process beside it: no two mounts share an upper one."""
        if self.layers is None:
            return self
        return replace(self, layers=Path(tempfile.mkdtemp(prefix="layers-", dir=self.layers.parent)))

    def clear(self) -> None:
        """Remove what was written into the overlay."""
        if self.layers is not None:
            _remove(self.layers)


def apart(root: Path, *, wanted: bool = True) -> Apart:
    """How writes of a rehearsal are held on this machine.

    Args:
        root: the rehearsal's own folder, which is written through.
        wanted: False where an overlay is not asked for.

    """
    if not wanted or not sys.platform.startswith("linux"):
        return Apart(root, why="not asked for" if not wanted else "overlays are Linux's")
    said = ""
    for base in (root, Path(tempfile.gettempdir()), Path("/dev/shm")):  # noqa: S108 - a folder of our own is made in it
        try:
            layers = Path(tempfile.mkdtemp(prefix="layers-", dir=base))
        except OSError:
            continue
        said = _tried(root, layers)
        if said == HELD:
            return Apart(root, layers)
        _remove(layers)
    return Apart(root, why=said)


def _entering(root: Path, layers: Path, cwd: Path) -> list[str]:
    specification = json.dumps({"root": str(root), "layers": str(layers), "cwd": str(cwd)})
    return [sys.executable, "-I", str(_PROGRAM), specification, "--"]


def _tried(root: Path, layers: Path) -> str:
    """HELD, or why there can be none."""
    try:
        done = asked([*_entering(root, layers, root), "try"], seconds=_TRY_S)
    except OSError as error:
        return str(error)
    if done.code is None:
        return f"no answer within {_TRY_S:g} s"
    last = done.err.decode("utf-8", "replace").strip().splitlines()
    if done.code == 0:
        return done.out.decode("utf-8", "replace").strip()
    return last[-1] if last else f"exit code {done.code}"


def _remove(folder: Path) -> None:
    """Remove a folder with the working folders of an overlay, which nobody may read."""
    for inner, folders, _ in os.walk(folder):
        for each in folders:
            path = Path(inner, each)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
