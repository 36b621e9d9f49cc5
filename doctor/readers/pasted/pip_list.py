"""`pip list`, `pip freeze`, `pip list --format json` and `conda list` (uv, mamba and micromamba write the same)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.facts.packages import normalised
from doctor.readers.pasted.stated import VERSION, Stated

#: fewer lines are somebody's selection (`pip freeze | grep torch`), where absence proves nothing
LEAST_LINES = 25
_HEADER = later(r"^\s*Package\s+Version\b")
_RULE = later(r"^\s*-{3,}(?:\s+-{3,})+\s*$")
_ROW = later(rf"^\s*([A-Za-z0-9][\w.-]*)\s+({VERSION})(?:\s+(\S.*))?\s*$")
_FROZEN = later(rf"^\s*([A-Za-z0-9][\w.-]*)==({VERSION})\s*$")
_AT = later(r"^\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s+@\s+(\S+)\s*$")
_EDITABLE = later(r"^\s*-e\s+\S*#egg=([A-Za-z0-9][\w.-]*)")
_COMMENT = later(rf"^\s*#\s*Editable (?:.*?)\(([A-Za-z0-9][\w.-]*)==({VERSION})\)")
_WHEEL = later(rf"/[^/]+?-({VERSION}?)-[^/]*\.whl")
_CONDA_HEAD = later(r"^\s*#?\s*(?:packages in environment at (?P<prefix>.+?):|Name\s+Version\s+Build\b)")
_CONDA_ROW = later(rf"^\s*([a-z0-9_][\w.-]*)\s+({VERSION})(?:\s+(\S+))?(?:\s+(\S+))?\s*$")
_PYTHON_BUILD = later(r"(?:^|_)py(?:\d|h|_|pi)")  # py311h..., py3.11_cuda..., pyhd8ed1ab_0, py_0, pypi_0
#: conda's names of Python distributions, where they differ from the package index's
_CONDA_NAMES = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch"}


def read(lines: Sequence[str], stated: Stated, whole: Sequence[str]) -> None:
    """Read the listings in the text; `whole` has the lines that are too long for the others (JSON is one line)."""
    for listing, text in ((_columns, lines), (_frozen, lines), (_json, whole), (_conda, lines)):
        if not stated.complete:  # a second whole listing is of another environment, or of another day
            listing(text, stated)


def _columns(lines: Sequence[str], stated: Stated) -> None:
    """`pip list`: a header, a rule of dashes, rows."""
    for number, line in enumerate(lines[:-1]):
        if not (_HEADER.match(line) and _RULE.match(lines[number + 1])):
            continue
        rows = 0
        cut = True
        for row in lines[number + 2 :]:
            match = _ROW.match(row)
            if not match:
                cut = "..." in row or "…" in row
                break
            rows += 1
            path = match[3] or ""
            editable = "/" in path
            stated.package(match[1], match[2], "pip list", editable=editable)
        else:
            cut = False
        if rows >= LEAST_LINES and not cut:
            stated.complete = True
            return


def _frozen(lines: Sequence[str], stated: Stated) -> None:
    """`pip freeze`: runs of `name==version`; sorted and long ones are whole listings, not requirement files."""
    run: list[tuple[str, str | None, bool]] = []
    for line in [*lines, ""]:
        entry = _frozen_entry(line)
        if entry is not None:
            run.append(entry)
            continue
        if line.lstrip().startswith(("# Editable", "## !!", "-e ")):  # what pip writes about one entry
            continue
        if len(run) >= 3:
            for name, version, editable in run:
                stated.package(name, version, "pip freeze", editable=editable)
            if len(run) >= LEAST_LINES and _in_order([name for name, _, editable in run if not editable]):
                stated.complete = True
                return
        run = []


def _in_order(names: list[str]) -> bool:
    """Whether names stand as pip (by lower case) or uv (by normalised name) lists them."""
    lower = [name.lower() for name in names]
    normal = [normalised(name) for name in names]
    return lower == sorted(lower) or normal == sorted(normal)


def _frozen_entry(line: str) -> tuple[str, str | None, bool] | None:
    """(name, version, editable) of one line of `pip freeze`."""
    match = _FROZEN.match(line)
    if match:
        return match[1], match[2], False
    match = _AT.match(line)
    if match:
        wheel = _WHEEL.search(match[2].replace("%2B", "+"))
        return match[1], wheel[1] if wheel else None, False
    match = _EDITABLE.match(line)
    if match:
        return match[1], None, True
    match = _COMMENT.match(line)
    return (match[1], match[2], True) if match else None


def _json(lines: Sequence[str], stated: Stated) -> None:
    """`pip list --format json`: one array of objects."""
    import json

    text = "\n".join(lines)
    start = re.search(r'\[\s*\{\s*"name"\s*:', text)
    if start is None:
        return
    try:
        entries, _ = json.JSONDecoder().raw_decode(text, start.start())
    except (ValueError, RecursionError):
        return
    rows = 0
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and isinstance(entry.get("version"), str):
            rows += 1
            editable = "editable_project_location" in entry
            stated.package(entry["name"], entry["version"], "pip list --format json", editable=editable)
    if rows >= LEAST_LINES:
        stated.complete = True


def _conda(lines: Sequence[str], stated: Stated) -> None:
    """`conda list`: rows after its header."""
    inside = False
    for line in lines:
        head = _CONDA_HEAD.match(line)
        if head:
            inside = True
            stated.say("environment_kind", "conda", "conda list", "interpreter")
        elif inside and not line.strip().startswith(("#", "─", "List of packages")):
            inside = not line.strip() or conda_row(line, stated, "conda list")


def conda_row(line: str, stated: Stated, source: str) -> bool:
    """Read one row `name version build channel`; False when it is none."""
    match = _CONDA_ROW.match(line)
    if not match:
        return False
    name, version, build = match[1], match[2], match[3] or ""
    stated.conda.setdefault(name, version)
    stated.note(source, "packages")
    if name == "python":
        stated.say("python", version, source, "interpreter")
        return True
    if not _PYTHON_BUILD.search(build):
        return True  # a library: conda's name for it is no distribution's
    stated.package(_CONDA_NAMES.get(name, name), version, source)
    if name == "pytorch":
        _conda_build(version, build, stated)
    return True


def _conda_build(version: str, build: str, stated: Stated) -> None:
    """CUDA that a conda build of torch names: `py3.11_cuda12.4_cudnn9.1.0_0`, `cuda126_py311h...`, `cpu_mkl_...`."""
    if stated.torch_version is not None:
        return
    stated.torch_version = version
    dotted = re.search(r"cuda([0-9]+\.[0-9]+)", build)
    digits = re.search(r"cuda([0-9]{2})([0-9])\b|cuda([0-9]{2})([0-9])_", build)
    if dotted:
        stated.torch_cuda, stated.torch_cuda_known = dotted[1], True
    elif digits:
        numbers = [each for each in digits.groups() if each]
        stated.torch_cuda, stated.torch_cuda_known = ".".join(numbers), True
    elif "cpu" in build:
        stated.torch_cuda_known = True
