"""Collects the fact `target`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.base.fact import Context, Unavailable, fact
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.facts.launch import Launch
from doctor.facts.target import INACTIVE, Target
from doctor.readers.command import programs

TIMEOUT_S = 3.0
ANSWER_BYTES = 32 << 20  # 1,000 distributions answer with 2 MB
_PYTHON_FILE = later(r"^(?:python|pypy)[0-9.]*t?(?:d|w|-dbg)?(?:\.exe)?$", re.IGNORECASE)
_IN_A_PREFIX = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
#: an environment that holds one tool: `uv tool install` and pipx leave these files, uvx unpacks into its cache
_TOOL_FILES = ("uv-receipt.toml", "pipx_metadata.json")
_TOOL_FOLDERS = ("/uv/archive-v", "/uv/builds-v", "/uv/environments-v", "/pipx/.cache/")


#: environments that stand in a project's folder, and what marks such a folder
_PROJECTS = (".venv", "venv", "env", ".pixi/envs/default", ".conda", "conda-env")
_ROOTS = ("pyproject.toml", "uv.lock", "pixi.toml", "requirements.txt", "environment.yml", ".git")


@record
class _Choice:
    path: str
    because: str


@fact(timeout_s=4.0)
def collect(context: Context, launch: Launch | None) -> Target:
    """Choose the interpreter and ask it about itself.

    Raises:
        Unavailable: there is none, it does not answer, or what would run cannot be told without running it.

    """
    environ = programs.launched_environ(context, launch)
    lookup = programs.Lookup(environ, context.cwd)
    choice = _choose(context, launch, lookup)
    first = _first_on_path(launch, context.cwd, environ)
    names = ("PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "HOME")
    is_own = _is_own(choice.path)
    request = {
        "first": first,
        "cwd": str(context.cwd),
        "environ": {name: environ[name] for name in names if name in environ},
        # a worker of Ray has folders on its path that no other process of that interpreter has
        "own": is_own and not context.gathering,
    }
    raw = _in_process(request) if request["own"] else _in_child(choice.path, request, environ)
    starts = _started(launch, lookup) if context.python else None
    return Target(choice.path, choice.because, is_own, first, raw, starts)


# Choosing ------------------------------------------------------------------------------------------------------


def _choose(context: Context, launch: Launch | None, lookup: programs.Lookup) -> _Choice:
    if context.python:
        return _Choice(_from_option(context.python, lookup), "--python")
    if launch is not None and launch.image is not None:
        raise Unavailable(f"the command runs in the image `{launch.image}`, whose packages are seen only there")
    reason = ""
    if launch is not None and launch.program:
        choice = _from_launch(launch, lookup)
        if choice is not None:
            return choice
        reason = f", for `{launch.program}` is not on PATH"
    active = _active(lookup)
    if active is not None:
        return _Choice(active.path, active.because + reason)
    return _project(lookup, reason) or _own(lookup, reason)


def _started(launch: Launch | None, lookup: programs.Lookup) -> str | None:
    """The interpreter that a command starts whatever `--python` says; None where it cannot be told."""
    try:
        known = launch is not None and launch.program and launch.image is None
        choice = _from_launch(launch, lookup) if launch is not None and known else None
    except Unavailable:
        return None
    return choice.path if choice is not None else None


def refuse_wrong_option(context: Context) -> None:
    """Raise where `--python` names nothing that could be an interpreter; starts nothing.

    Raises:
        Unavailable: with the reason.

    """
    if context.python:
        lookup = programs.Lookup(context.environ, context.cwd)
        _must_be_python(_from_option(context.python, lookup))


def _from_option(typed: str, lookup: programs.Lookup) -> str:
    """File that `--python` names: a file, a venv or conda prefix, or a word that PATH has."""
    expanded = lookup.environ.get("HOME", "~") + typed[1:] if typed.startswith("~/") else typed
    path = Path(os.path.normpath(lookup.cwd / expanded))
    if path.is_dir():
        inside = next((path / each for each in _IN_A_PREFIX if (path / each).exists()), None)
        if inside is None:
            raise Unavailable(f"`{typed}` is a folder without bin/python")
        return str(inside)
    if path.is_symlink() and not path.exists():
        raise Unavailable(f"`{typed}` is a link to `{_link(path)}`, which does not exist")
    found = lookup.program(typed if "/" in typed or not path.is_file() else str(path))
    if found is not None and found.problem:
        raise Unavailable(found.problem)
    if found is not None and found.interpreter and _PYTHON_FILE.match(Path(found.path).name):
        return found.interpreter
    if not path.exists() and found is None:
        raise Unavailable(f"`{typed}` does not exist" if "/" in typed else f"`{typed}` is not on PATH")
    return found.path if found else str(path)


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return "?"


def _from_launch(launch: Launch, lookup: programs.Lookup) -> _Choice | None:
    """Interpreter of the launched program; None when PATH does not have the program."""
    before = programs.before_program(launch.argv, launch.program)
    folders, problem = programs.runner_folders(before, lookup)
    if problem:
        raise Unavailable(f"{problem}; name the interpreter with --python")
    lookup = programs.Lookup(lookup.environ, lookup.cwd, folders)
    chosen = lookup.environ.get("PYTHON_EXEC")
    if launch.kind == "torchrun" and chosen:  # torch/distributed/run.py prefers it to its own interpreter
        return _Choice(lookup.which(chosen) or chosen, "PYTHON_EXEC")
    word = launch.program
    if "uv" in launch.wrappers and word.endswith(".py"):
        word = "python"  # `uv run train.py` is `uv run python train.py`
    found = lookup.program(word)
    if found is None:
        return None
    if found.problem:
        raise Unavailable(f"the interpreter of `{launch.program}` cannot be determined: {found.problem}")
    if found.interpreter is None:
        raise Unavailable(f"`{found.path}` is not a Python script; name the interpreter with --python")
    if found.interpreter == found.path:
        where = "on PATH" if "/" not in word else "in the launch command"
        return _Choice(found.interpreter, f"`{word}` {where}")
    if not Path(found.interpreter).exists():
        raise Unavailable(f"`{found.path}` starts `{found.interpreter}`, which does not exist")
    return _Choice(found.interpreter, f"`{Path(launch.program).name}` on PATH runs it")


def _active(lookup: programs.Lookup) -> _Choice | None:
    """Python of the active venv or conda environment; of both, the one that PATH gives first."""
    found = []
    for name, because in (("VIRTUAL_ENV", "active venv"), ("CONDA_PREFIX", "active conda environment")):
        prefix = lookup.environ.get(name)
        path = next((f"{prefix}/{each}" for each in _IN_A_PREFIX if Path(f"{prefix}/{each}").exists()), None)
        if prefix and path:
            folders = list(lookup.folders)
            place = folders.index(f"{prefix}/bin") if f"{prefix}/bin" in folders else len(folders)
            found.append((place, _Choice(path, because)))
    return min(found, key=lambda each: each[0])[1] if found else None


def _project(lookup: programs.Lookup, reason: str) -> _Choice | None:
    """The environment that belongs to the folder, although nobody has activated it.

    https://docs.astral.sh/uv/concepts/projects/config/#project-environment-path,
    https://pixi.prefix.dev/latest/workspace/environment/
    """
    root = next(
        (each for each in (lookup.cwd, *lookup.cwd.parents) if any((each / name).exists() for name in _ROOTS)), None
    )
    for folder in dict.fromkeys((lookup.cwd, *([root] if root else []))):
        for name in _PROJECTS:
            prefix = folder / name
            marked = (prefix / "pyvenv.cfg").is_file() or (prefix / "conda-meta").is_dir()
            path = next((prefix / each for each in _IN_A_PREFIX if (prefix / each).exists()), None)
            if marked and path is not None:
                return _Choice(str(path), f"{INACTIVE} `{name}` of this project, which is not active{reason}")
    return None


def _own(lookup: programs.Lookup, reason: str) -> _Choice:
    """Return the doctor's own interpreter, unless it lives in an environment made for the doctor alone."""
    own = _Choice(sys.executable, f"the doctor's own{reason}")
    prefix = os.path.realpath(sys.prefix)
    alone = any((Path(prefix) / each).exists() for each in _TOOL_FILES)
    if not alone and not any(each in f"{prefix}/" for each in _TOOL_FOLDERS):
        return own
    for word in ("python", "python3"):
        found = lookup.which(word, skip=f"{sys.prefix}/bin")
        program = lookup.program(found) if found else None
        if program and program.interpreter and not _is_own(program.interpreter):
            because = f"`{word}` on PATH, because the doctor has its own environment"
            return _Choice(program.interpreter, because)
    return own


def _is_own(path: str) -> bool:
    """Whether a file is the interpreter that runs this: a venv's link and its base are different ones."""
    folder = os.path.realpath(Path(path).parent.parent)
    same = folder == os.path.realpath(sys.prefix)
    return same and os.path.realpath(path) == os.path.realpath(sys.executable)


def _first_on_path(launch: Launch | None, cwd: Path, environ: Mapping[str, str]) -> str | None:
    """Folder that Python itself puts first on the path of the training process."""
    if launch is None or environ.get("PYTHONSAFEPATH"):
        return None
    module = launch.option("module")
    if launch.module or (module is not None and module.value):
        return str(cwd)  # also where the module's file was found, and is read as the script
    return str(Path(os.path.realpath(cwd / launch.script)).parent) if launch.script else None


# Asking --------------------------------------------------------------------------------------------------------


def _in_process(request: Mapping[str, Any]) -> dict[str, Any]:
    from doctor.readers.patient import probe

    answer = probe.report(dict(request))
    return dict(answer)


def _in_child(path: str, request: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """Start the interpreter isolated and read the probe's line; nothing of that environment runs."""
    _must_be_python(path)
    code, out, err = _ask(path, ["-I", "-S", "-B"], request, environ)
    if code == 2 and b"-I" in err:  # before Python 3.4
        code, out, err = _ask(path, ["-E", "-s", "-S", "-B"], request, environ)
    return _answer(path, code, out, err)


def _must_be_python(path: str) -> None:
    """Refuse what is not an interpreter by its name: nothing else of the user's is started."""
    file = Path(path)
    if not file.exists():
        raise Unavailable(f"`{path}` does not exist")
    if not file.is_file():
        raise Unavailable(f"`{path}` is not a file")
    if not (_PYTHON_FILE.match(file.name) or _PYTHON_FILE.match(Path(os.path.realpath(file)).name)):
        raise Unavailable(f"`{path}` is not a Python interpreter: its name does not say so, and it was not started")
    if not os.access(path, os.X_OK):
        raise Unavailable(f"`{path}` is not executable")


def _ask(
    path: str, flags: list[str], request: Mapping[str, Any], environ: Mapping[str, str]
) -> tuple[int, bytes, bytes]:
    """Exit status and output of one probe run."""
    import json

    from doctor.readers.patient import child, probe

    argv = [path, *flags, "-", json.dumps(request)]
    try:
        with Path(probe.__file__).open("rb") as script:
            answer = child.run(argv, environ=environ, stdin=script, timeout_s=TIMEOUT_S, limit_bytes=ANSWER_BYTES)
    except OSError as exc:
        raise Unavailable(f"`{path}` cannot be started: {os.strerror(exc.errno or 0)}") from None
    if answer.overflowed:
        raise Unavailable(f"`{path}` is not a Python interpreter: it answers without end")
    if answer.code is None:
        raise Unavailable(f"`{path}` did not answer within {TIMEOUT_S:g} s")
    return answer.code, answer.out, answer.err


def _answer(path: str, code: int, out: bytes, err: bytes) -> dict[str, Any]:
    """Take the probe's line out of the output, or say what went wrong."""
    import json

    from doctor.readers.patient import probe

    mark = ("\n" + probe.MARK).encode()
    start = out.rfind(mark)
    if start >= 0:
        line = out[start + len(mark) :].split(b"\n", 1)[0]
        try:
            return dict(_printable(json.loads(line)))
        except (ValueError, TypeError, RecursionError):
            pass
    elif code != 0:
        raise Unavailable(f"`{path}` {_death(code)}{_last_words(err)}")
    raise Unavailable(f"`{path}` answered with something other than the probe's report")


def _death(code: int) -> str:
    import signal

    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _last_words(err: bytes) -> str:
    """Last line of a child's complaint, redacted and short."""
    from doctor.base.redact import redact_text

    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {redact_text(lines[-1])[:200]}" if lines else ""


def _printable(value: Any) -> Any:
    """Replace what a C locale left undecoded in paths; it could not be printed."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_printable(key): _printable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_printable(each) for each in value]
    return value
