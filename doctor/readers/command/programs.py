"""What a word of a command line starts: PATH, first lines of scripts, pyenv's shims, uv and conda.

Everything is read; nothing is started.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from doctor.base.fact import Context
from doctor.base.patterns import later
from doctor.base.record import record
from doctor.facts.launch import Launch

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"  # what shells search when PATH is unset
HEAD_BYTES = 4096
PYTHON_NAME = later(r"^(?:python|pypy)[0-9.]*t?$")
_PYENV_ROOT = later(r"^\s*export PYENV_ROOT=[\"']?([^\"'\n]+)", re.MULTILINE)
_PYENV = later(r"pyenv[\"']? exec\b")
#: pip and conda write this where a `#!` line would be too long or hold a space, uv always
_EXEC = later(r"""^'''exec'\s+(?P<python>.+?)\s+"\$0"\s+"\$@\"""", re.MULTILINE)
#: uv with --relocatable: the interpreter beside the script
_BESIDE = later(r"""^"\$\(dirname -- "\$\(realpath -- "\$0"\)"\)"/'?(?P<name>[^'"]+)'?$""")
_CHOOSES_ITSELF = frozenset({"poetry", "pipenv", "hatch", "pdm", "rye"})


@record
class Program:
    """A word as PATH resolves it: its file, the Python that would run it, or why that cannot be told."""

    path: str
    interpreter: str | None = None
    problem: str | None = None


@record
class Lookup:
    """Where words are looked up: variables of the launched environment, its PATH and its folder."""

    environ: Mapping[str, str]
    cwd: Path
    extra: tuple[str, ...] = ()  # folders that `uv run` or `conda run` put first

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of PATH, absolute, in order; an empty entry is the working folder."""
        text = self.environ.get("PATH", DEFAULT_PATH)
        return (*self.extra, *(os.path.normpath(self.cwd / each) for each in text.split(os.pathsep)))

    def which(self, word: str, skip: str = "") -> str | None:
        """File that a word starts, None when there is none; `skip` is a folder to leave out."""
        if "/" in word:
            path = os.path.normpath(self.cwd / _expand(word, self.environ))
            return path if runnable(path) else None
        for folder in self.folders:
            if folder != skip and runnable(f"{folder}/{word}"):
                return f"{folder}/{word}"
        return None

    def program(self, word: str, depth: int = 0) -> Program | None:
        """Tell what a word starts and which Python runs it; None when nothing is found."""
        path = self.which(word)
        if path is None or depth > 4:
            return None
        text = _head(path)
        if _PYENV.search(text):
            return self._behind_shim(path, text)
        if "asdf exec" in text or _base(os.path.realpath(path)) in {"mise", "asdf"}:
            return Program(path, problem=f"`{word}` on PATH is a shim that chooses when it runs")
        if PYTHON_NAME.match(_base(path)) and not _is_python_script(text):
            return Program(path, path)
        return self._script(path, text, depth)

    def _script(self, path: str, text: str, depth: int) -> Program:
        """Read the first lines of a script; binaries and scripts of other languages have no interpreter."""
        words = _first_line(text)
        if words and _base(words[0]) == "env":
            rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            if not rest or not PYTHON_NAME.match(_base(rest[0])):
                return Program(path)
            found = self.program(rest[0], depth + 1)
            if found is None:
                return Program(path, problem=f"its first line names `{rest[0]}`, which PATH does not have")
            return Program(path, found.interpreter, found.problem)
        if words and PYTHON_NAME.match(_base(words[0])):
            return Program(path, words[0])
        if words and _base(words[0]) in {"sh", "bash"}:
            return Program(path, _exec_form(path, text))
        return Program(path)

    def _behind_shim(self, path: str, text: str) -> Program:
        """Find the program that a pyenv shim would start, from pyenv's own files."""
        name = _base(path)
        written = _PYENV_ROOT.search(text)
        root = Path(written[1] if written else Path(path).parents[1])
        chosen, said_by = self._pyenv_names(root)
        for each in chosen:
            if each == "system":
                target = self.which(name, skip=_folder(path))
            else:
                target = _pyenv_program(root / "versions", each, name)
            if target and runnable(target):
                found = self.program(target, 1)
                return Program(path, found.interpreter, found.problem) if found else Program(path)
        return Program(path, problem=f"pyenv has no `{name}` for {', '.join(chosen)} ({said_by})")

    def _pyenv_names(self, root: Path) -> tuple[list[str], str]:
        """Names that pyenv would use here, and which variable or file says so."""
        if self.environ.get("PYENV_VERSION"):
            return self.environ["PYENV_VERSION"].split(":"), "PYENV_VERSION"
        for folder in (self.cwd, *self.cwd.parents):
            names = _pyenv_file(folder / ".python-version")
            if names:
                return names, str(folder / ".python-version")
        names = _pyenv_file(root / "version")
        return (names, str(root / "version")) if names else (["system"], "no version is set")


def _pyenv_file(path: Path) -> list[str]:
    """Version names in a file of pyenv's."""
    lines = _head(str(path)).splitlines()
    return [word for line in lines for word in line.partition("#")[0].split()]


def _pyenv_program(versions: Path, wanted: str, name: str) -> str | None:
    """File of a program in the version that `wanted` names: exactly, or the newest that it is a prefix of."""
    if (versions / wanted / "bin").is_dir():
        return str(versions / wanted / "bin" / name)
    wanted = wanted.removeprefix("python-")
    try:
        candidates = [each.name for each in versions.iterdir() if each.name.startswith(f"{wanted}.")]
    except OSError:
        return None
    numbered = [each for each in candidates if re.fullmatch(r"[0-9.]+", each)]
    if not numbered:
        return None
    newest = max(numbered, key=lambda each: [int(part) for part in each.split(".") if part])
    return str(versions / newest / "bin" / name)


def launched_environ(context: Context, launch: Launch | None) -> dict[str, str]:
    """Variables as the launched program sees them; `$PATH` in an assignment is the PATH before it."""
    environ = dict(context.environ)
    for name, value in (launch.environment if launch else {}).items():
        before = context.environ.get(name, "")
        environ[name] = value.replace(f"${{{name}}}", before).replace(f"${name}", before)
    return environ


def runnable(path: str) -> bool:
    """Whether a path is a regular file that may be executed."""
    return Path(path).is_file() and os.access(path, os.X_OK)


def _base(path: str) -> str:
    """Last part of a path."""
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    """Everything but the last part of a path."""
    return path.rpartition("/")[0] or "/"


def _expand(word: str, environ: Mapping[str, str]) -> str:
    """`~/x` with the home folder of the launched environment."""
    home = environ.get("HOME")
    return home + word[1:] if home and word.startswith("~/") else word


def _head(path: str) -> str:
    """First bytes of a regular file as text, empty for binaries and for what cannot be read."""
    from doctor.readers.patient import probe

    try:
        data = probe.read_file(path, HEAD_BYTES) or b""
    except OSError:
        return ""
    return "" if data.startswith(b"\x7fELF") else os.fsdecode(data)


def _first_line(text: str) -> list[str]:
    """Words of a `#!` line as the kernel and `env -S` split them."""
    if not text.startswith("#!"):
        return []
    return text[2:].split("\n", 1)[0].split()


def _is_python_script(text: str) -> bool:
    """Whether a file is itself a script that Python runs (a launcher that happens to be called python...)."""
    words = _first_line(text)
    return bool(words) and any(PYTHON_NAME.match(_base(word)) for word in words[:2])


def _exec_form(path: str, text: str) -> str | None:
    """Interpreter of a script that begins as sh and replaces itself by Python."""
    match = _EXEC.search(text)
    if not match:
        return None
    beside = _BESIDE.match(match["python"])
    if beside:
        return f"{_folder(os.path.realpath(path))}/{beside['name']}"
    try:
        words = shlex.split(match["python"])
    except ValueError:
        return None
    return words[0] if words and "$" not in words[0] else None


def before_program(argv: Sequence[str], program: str) -> list[str]:
    """Words in front of the launched program: assignments and wrappers with their options."""
    words = list(argv)
    return words[: words.index(program)] if program in words else words


def runner_folders(words: Sequence[str], lookup: Lookup) -> tuple[tuple[str, ...], str | None]:
    """Folders that `uv run`, `conda run` and their like put first on PATH, or why these cannot be told."""
    for index, word in enumerate(words):
        name = _base(word)
        following = list(words[index + 1 :])
        if "run" not in following:
            continue
        if name in _CHOOSES_ITSELF:
            return (), f"`{name} run` chooses the interpreter when it runs"
        if name == "uv":
            return _uv(following, lookup)
        if name == "pixi":
            return _pixi(following, lookup)
        if name in {"conda", "mamba", "micromamba"}:
            return _conda(following, lookup)
    return (), None


def _value(words: Sequence[str], *names: str) -> str | None:
    """Value of an option written as `--name value` or `--name=value`."""
    for index, word in enumerate(words):
        if word in names and index + 1 < len(words):
            return words[index + 1]
        for name in names:
            if name.startswith("--") and word.startswith(f"{name}="):
                return word.partition("=")[2]
    return None


def _uv(words: Sequence[str], lookup: Lookup) -> tuple[tuple[str, ...], str | None]:
    """Environment of `uv run`.

    https://docs.astral.sh/uv/concepts/projects/config/#project-environment-path
    """
    if "--isolated" in words:
        return (), "`uv run --isolated` makes its environment when it starts"
    active = lookup.environ.get("VIRTUAL_ENV")
    if active and ("--active" in words or "--no-project" in words):
        return (f"{active}/bin",), None
    start = lookup.cwd / (_value(words, "--project", "--directory") or "")
    root = next((each for each in (start, *start.parents) if (each / "pyproject.toml").is_file()), None)
    if root is None or "--no-project" in words:
        venvs = (each / ".venv" for each in (start, *start.parents))
        folder = active or next((str(each) for each in venvs if (each / "bin").is_dir()), None)
        return ((f"{folder}/bin",), None) if folder else ((), None)
    venv = root / (lookup.environ.get("UV_PROJECT_ENVIRONMENT") or ".venv")
    if not (venv / "bin").is_dir():
        return (), f"`uv run` makes its environment when it starts, and `{venv}` does not exist yet"
    return (str(venv / "bin"),), None


def _pixi(words: Sequence[str], lookup: Lookup) -> tuple[tuple[str, ...], str | None]:
    """Environment of `pixi run` (https://pixi.prefix.dev/latest/workspace/environment/)."""
    name = _value(words, "-e", "--environment") or "default"
    manifest = _value(words, "--manifest-path")
    start = (lookup.cwd / manifest).parent if manifest else lookup.cwd
    found = (each / ".pixi" / "envs" / name / "bin" for each in (start, *start.parents))
    folder = next((each for each in found if each.is_dir()), None)
    return ((str(folder),), None) if folder else ((), f"`pixi run` creates its environment `{name}` when it starts")


def _conda(words: Sequence[str], lookup: Lookup) -> tuple[tuple[str, ...], str | None]:
    """Environment of `conda run -n NAME` or `-p PREFIX`."""
    prefix = _value(words, "-p", "--prefix")
    name = _value(words, "-n", "--name")
    if prefix:
        return (os.path.normpath(lookup.cwd / prefix / "bin"),), None
    if not name:
        active = lookup.environ.get("CONDA_PREFIX")
        return ((f"{active}/bin",), None) if active else ((), None)
    for folder in _conda_folders(lookup):
        candidate = folder if name == "base" and folder.name != "envs" else folder / name
        if (candidate / "conda-meta").is_dir():
            return (str(candidate / "bin"),), None
    return (), f"conda environment `{name}` was not found"


def _conda_folders(lookup: Lookup) -> list[Path]:
    """Folders in which conda keeps environments, its own root among them."""
    environ = lookup.environ
    listed = environ.get("CONDA_ENVS_DIRS") or environ.get("CONDA_ENVS_PATH") or ""
    folders = [Path(each) for each in listed.split(os.pathsep) if each]
    program = environ.get("CONDA_EXE") or lookup.which("conda") or lookup.which("mamba")
    roots = [environ.get("MAMBA_ROOT_PREFIX"), str(Path(program).parents[1]) if program else None]
    for root in roots:
        if root:
            folders += [Path(root) / "envs", Path(root)]
    home = environ.get("HOME")
    return [*folders, Path(home) / ".conda" / "envs"] if home else folders
