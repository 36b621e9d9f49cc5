"""Collects the fact `script`."""

from __future__ import annotations

import os
from pathlib import Path

from doctor.base.evidence import Place
from doctor.base.fact import NO_COMMAND, BrokenFile, Context, DoesNotApply, Unavailable, fact
from doctor.facts.launch import Launch
from doctor.facts.script import Script


@fact(about="command")
def collect(context: Context, launch: Launch) -> Script:
    """Read the script that the launch command names; one that is not there to be read says so in `broken`.

    Raises:
        Unavailable: the command names no script, or a notebook.

    """
    from doctor.readers.script.python_source import SCRIPT_LIMIT_BYTES, SourceNotReadable, read_regular

    path = _script_path(context, launch)
    try:
        content = read_regular(path, SCRIPT_LIMIT_BYTES)
    except SourceNotReadable as exc:
        return Script(path, broken=BrokenFile(Place(path), f"it {exc}"))
    if path.endswith(".ipynb"):
        from doctor.readers.script.notebook import NotebookError, cells

        try:
            content = cells(content.decode("utf-8", "replace")).source.encode()
        except NotebookError as exc:
            return Script(path, broken=BrokenFile(Place(path), f"not a readable notebook: {exc}"))
    from doctor.readers.script import script_reader

    started = script_reader.Started(launch.folder or str(context.cwd), launch.script_args)
    return script_reader.read(path, content, started=started)


def read_script(path: str, content: bytes, folder: str | None = None) -> Script:
    """What a script of this content says, started by nobody; a file that is no Python gives `Script.broken`.

    Args:
        path: of the file, for places.
        content: of it.
        folder: where the modules lie that it imports; the file's own by default.

    """
    from doctor.readers.script import script_reader

    return script_reader.read(path, content, folder)


def _script_path(context: Context, launch: Launch) -> str:
    if not context.argv and launch.script is None:
        raise Unavailable(NO_COMMAND)
    path = launch.script
    folder = Path(launch.folder) if launch.folder else context.cwd
    if path is None and launch.module and launch.kind in {"python", "torchrun", "accelerate", "deepspeed"}:
        path = _module_path(folder, launch.module)
    if path is None:
        raise DoesNotApply("the command names no training script")
    script = Path(path)
    inside = script / "__main__.py"  # `python folder` runs it
    return str(inside if script.suffix == "" and os.path.isfile(inside) else script)  # noqa: PTH113 - never raises


def _module_path(folder: Path, module: str) -> str | None:
    """File of `python -m module`, where it is one of the user's beside the command."""
    base = folder.joinpath(*module.split("."))
    candidates = (base.with_name(f"{base.name}.py"), base / "__main__.py")
    return next((str(each) for each in candidates if os.path.isfile(each)), None)  # noqa: PTH113 - never raises
