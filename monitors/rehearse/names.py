"""Which names of models lead to a tiny folder, and how that folder is made: once for each name, under a lock."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Optional

from doctor.base.asking import Answered, asked
from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import VARIABLE, settings

#: of the launcher and of what it configures: a model that is made is no part of the training's group
_LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", VARIABLE)
_LAUNCHED_PREFIXES = ("MASTER_", "ACCELERATE_", "FSDP_", "TORCHELASTIC_", "PMI_", "OMPI_", "SLURM_")
#: files whose presence says that a folder is a state of a training, not a model to start from
_STATES = ("trainer_state.json", "optimizer.pt", "latest")
#: weights in a folder of at most so many bytes are loaded as they are: the model is tiny already
_TINY_BYTES = 48 << 20
_MAKING_S = 180.0
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")


def redirected(name: Any, kind: str = "model", **where: Any) -> Any:
    """The tiny folder in the place of a name; the name itself where it is not one to be replaced.

    Args:
        name: what the user's code hands to a loader.
        kind: `model` or `adapter`.
        where: `revision`, `subfolder`, `cache_dir`, `trust_remote_code`, `token`, `variant` as the loader got them.

    """
    if not isinstance(name, (str, os.PathLike)) or not settings().tiny:
        return name
    try:
        text = os.fspath(name)
        why = kept(text, kind)
        if why is not None:
            if why:
                journal.once("kept", text, name=text, why=why)
            return name
        folder = _folder(text, kind, where)
        made = _made(text, kind, folder, where)
    except Exception:  # noqa: BLE001 - a bug of ours: the user's loader says what it thinks of the name
        journal.crashed("names.redirected")
        return name
    if made is None:
        return name
    journal.replaced("model", text, str(folder))
    _Real.names[str(folder)] = text
    return str(folder)


class _Real:
    """What stands in a tiny folder's place outside of the rehearsal."""

    names: ClassVar[dict[str, str]] = {}


def real_name(folder: str) -> str:
    """The name that a tiny folder stands for; any other name is its own."""
    return _Real.names.get(folder, folder)


def kept(name: str, kind: str) -> Optional[str]:
    """Why a name is loaded as it is, "" where that needs no word; None for one to be replaced."""
    if kind == "model" and name.endswith((".json", ".gguf")):
        return ""
    path = Path(name).expanduser()
    if not path.is_dir():
        return None if _is_hub_name(name) else ""
    if settings().root in (path.resolve(), *path.resolve().parents):
        return ""
    if any((path / each).exists() for each in _STATES):
        return "state"
    wanted = "adapter_config.json" if kind == "adapter" else "config.json"
    if not any(path.rglob(wanted)):
        return ""
    return "tiny" if kind == "model" and _is_tiny(path) else None


def _is_hub_name(name: str) -> bool:
    parts = name.split("/")
    return 1 <= len(parts) <= 2 and all(parts) and not name.startswith((".", "~")) and " " not in name


def _is_tiny(folder: Path) -> bool:
    sizes = [each.stat().st_size for each in folder.iterdir() if each.suffix in _WEIGHTS and each.is_file()]
    return bool(sizes) and sum(sizes) <= _TINY_BYTES


def _folder(name: str, kind: str, where: Mapping[str, Any]) -> Path:
    key = json.dumps([kind, name, where.get("revision"), where.get("subfolder"), where.get("variant")])
    stem = name.rstrip("/").rpartition("/")[2][:40] or "model"
    return settings().root / "models" / f"{stem}-{hashlib.sha256(key.encode()).hexdigest()[:10]}"


def make_ahead(name: str) -> None:
    """Make the tiny folder of a model that the command will ask for; nothing where that fails."""
    try:
        if kept(name, "model") is None:
            folder = _folder(name, "model", {})
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _locked(folder.with_name(f"{folder.name}.lock")):
                told = None if folder.is_dir() else _child(name, "model", folder, {})
                if told is not None:
                    journal.write("made", name=name, **told)
    except Exception:  # noqa: BLE001 - the command makes it then
        journal.crashed("names.make_ahead")


def _made(name: str, kind: str, folder: Path, where: Mapping[str, Any]) -> Optional[Path]:
    """The folder, made by whoever comes first; None where it cannot be made, which is noted."""
    failed = folder.with_name(f"{folder.name}.failed")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with journal.phase("model"), _locked(folder.with_name(f"{folder.name}.lock")):
        if not folder.is_dir() and not failed.exists():
            told = _child(name, kind, folder, where)
            if told is None:
                failed.touch()
            else:
                journal.write("made", name=name, **told)
    return folder if folder.is_dir() else None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _child(name: str, kind: str, folder: Path, where: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """What the child says it has made; None where it could not, and why is noted."""
    wish = {
        "name": name, "kind": kind, "into": str(folder), "library": library(), "parallel": parallel(),
        **{key: each for key, each in where.items() if isinstance(each, (str, bool))},
    }  # fmt: skip
    if kind == "adapter":
        wish["base"] = redirected(_base_of(name))
    program = Path(__file__).with_name("make_tiny.py")
    try:
        done = asked(
            [sys.executable, str(program)], seconds=_MAKING_S, environ=apart(dict(os.environ)),
            given=json.dumps(wish).encode(),
        )  # fmt: skip
    except OSError as error:
        journal.write("not_made", name=name, error=str(error)[-300:])
        return None
    if done.code == 0 and folder.is_dir():
        told: dict[str, Any] = json.loads(done.out.decode().strip().splitlines()[-1])
        return told
    journal.write("not_made", name=name, error=_why(done))
    return None


def _why(done: Answered) -> str:
    """Why a folder was not made, by what its child said last."""
    if done.code is None:
        return f"it took longer than {_MAKING_S:.0f} s, or said too much"
    said = done.err.decode(errors="replace").strip().splitlines()
    return said[-1][-300:] if said else f"exit code {done.code}"


def _base_of(adapter: str) -> str:
    path = Path(adapter) / "adapter_config.json"
    return str(json.loads(path.read_text(encoding="utf-8"))["base_model_name_or_path"])


@functools.lru_cache(maxsize=1)
def library() -> str:
    """Folder that holds the carried package."""
    return str(Path(__file__).parents[3])


def parallel() -> int:
    """What widths of a tiny model must go on to divide by: the size of the world, as far as it is known here."""
    world = os.environ.get("WORLD_SIZE", "")
    return int(world) if world.isdecimal() and int(world) > 0 else 1


def apart(variables: dict[str, str]) -> dict[str, str]:
    """Variables without the launcher's and without the start-up hook."""
    hook = str(Path(library()).with_name("hook"))
    left = {
        name: value
        for name, value in variables.items()
        if name not in _LAUNCHED and not name.startswith(_LAUNCHED_PREFIXES) and name != "DOCTOR_RUN_DIR"
    }
    path = [each for each in left.get("PYTHONPATH", "").split(os.pathsep) if each and each != hook]
    left["PYTHONPATH"] = os.pathsep.join(path)
    if not path:
        del left["PYTHONPATH"]
    return left
