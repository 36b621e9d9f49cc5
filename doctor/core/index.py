"""The index of the catalogue: what each problem's file declares, read by `ast` without importing it.

It lets the runner import only the checks whose facts exist and whose versions apply. A wheel carries it ready made;
elsewhere it is rebuilt when any file of the catalogue changed and kept in the user's cache folder.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from doctor.core.check import wanted_facts
from doctor.core.problem import ERROR, INFO, WARNING, Severity
from doctor.core.record import record

FORMAT = 4  # raise when Entry or the index changes
CATALOGUE = "doctor.checks"
GROUP = "doctor.checks"  # entry points of third parties
_SEVERITIES = {"ERROR": ERROR, "WARNING": WARNING, "INFO": INFO}


class CatalogueError(Exception):
    """A problem's file does not declare what it must; names the file and the line."""


@record
class CheckEntry:
    """A check function: its name, parameter -> (fact, needed), and the problems that make it moot."""

    function: str
    facts: Mapping[str, tuple[str, bool]]
    requires: tuple[str, ...] = ()


@record
class Entry:
    """A problem as its file declares it."""

    id: str
    name: str
    severity: Severity
    since: str
    module: str
    title: str
    affects: Mapping[str, str] = field(default_factory=dict)
    ends_run: bool = True
    checks: tuple[CheckEntry, ...] = ()
    has_signatures: bool = False
    has_rule: bool = False

    @property
    def area(self) -> str:
        """Folder that holds it: ``vllm``."""
        return self.module.split(".")[-2]


def read_entry(source: str, module: str, path: str) -> Entry | None:
    """What a file declares; None when it declares no problem (a helper module).

    Raises:
        CatalogueError: the declaration cannot be read without running it.

    """
    tree = ast.parse(source, path)
    problem = next((call for name, call in _assigned_calls(tree) if name == "PROBLEM"), None)
    if problem is None:
        return None
    fields = _problem_fields(problem, path)
    assigned = {name for name, _ in _assigned_names(tree)}
    title = (ast.get_docstring(tree) or "").partition("\n")[0].rstrip(".")
    return Entry(
        module=module,
        title=title,
        checks=tuple(_checks(tree)),
        has_signatures="SIGNATURES" in assigned,
        has_rule=any(_decorator(node, "rule") for node in tree.body if isinstance(node, ast.ClassDef)),
        **fields,
    )


def _assigned_names(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _assigned_calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for name, value in _assigned_names(tree):
        if isinstance(value, ast.Call):
            yield name, value


def _problem_fields(call: ast.Call, path: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for keyword in call.keywords:
        value = keyword.value
        if keyword.arg == "severity" and isinstance(value, ast.Name) and value.id in _SEVERITIES:
            fields["severity"] = _SEVERITIES[value.id]
            continue
        try:
            fields[str(keyword.arg)] = ast.literal_eval(value)
        except ValueError:
            msg = f"{path}:{value.lineno}: `{keyword.arg}` of PROBLEM must be a literal"
            raise CatalogueError(msg) from None
    missing = {"id", "name", "severity", "since"} - fields.keys()
    if missing:
        msg = f"{path}:{call.lineno}: PROBLEM lacks {', '.join(sorted(missing))}"
        raise CatalogueError(msg)
    return fields


def _decorator(node: ast.FunctionDef | ast.ClassDef, name: str) -> ast.Call | None:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == name:
            return decorator
    return None


def _checks(tree: ast.Module) -> Iterator[CheckEntry]:
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or not (decorator := _decorator(node, "check")):
            continue
        annotations = {each.arg: ast.unparse(each.annotation) for each in node.args.args if each.annotation is not None}
        requires = next((ast.literal_eval(each.value) for each in decorator.keywords if each.arg == "requires"), ())
        yield CheckEntry(node.name, wanted_facts(annotations), tuple(requires))


def _files(root: Path) -> list[tuple[str, os.DirEntry[str]]]:
    """(dotted name below the root, file) of every file that may declare a problem, in a stable order."""
    found: list[tuple[str, os.DirEntry[str]]] = []
    for area in sorted(os.scandir(root), key=lambda each: each.name):
        if not area.is_dir() or area.name.startswith((".", "_")):
            continue
        found += [
            (f"{area.name}.{each.name[:-3]}", each)
            for each in sorted(os.scandir(area.path), key=lambda each: each.name)
            if each.name.endswith(".py") and not each.name.startswith("_")
        ]
    return found


def signature(roots: Mapping[str, Path], *, with_times: bool) -> int:
    """A number that changes when a file of the catalogue is added, removed or changed.

    Times of change tell a checkout's edits; an installed wheel, whose times are those of its installation, goes by
    names and sizes.
    """
    crc = FORMAT
    for package, root in roots.items():
        for dotted, file in _files(root):
            stat = file.stat()
            text = f"{package}.{dotted} {stat.st_size} {stat.st_mtime_ns if with_times else 0}"
            crc = zlib.crc32(text.encode(), crc)
    return crc


def build(roots: Mapping[str, Path], *, with_times: bool = False) -> dict[str, Any]:
    """Read every file of the catalogue: package name -> folder. Returns the index as JSON-able data.

    A malformed file of a third party is told under ``faults`` (module -> what is wrong) and the others count.

    Raises:
        CatalogueError: one of our own is malformed.
        SyntaxError: one of our own is no Python.

    """
    entries, faults = [], {}
    for package, root in roots.items():
        for dotted, file in _files(root):
            try:
                entry = read_entry(Path(file.path).read_text(encoding="utf-8"), f"{package}.{dotted}", file.path)
            except (CatalogueError, SyntaxError, ValueError, OSError) as exc:
                if package == CATALOGUE:
                    raise
                faults[f"{package}.{dotted}"] = f"{type(exc).__name__}: {exc}"
                continue
            if entry is not None:
                entries.append(asdict(entry))
    return {"signature": signature(roots, with_times=with_times), "entries": entries, "faults": faults}


def _entry(data: dict[str, Any]) -> Entry:
    checks = tuple(
        CheckEntry(
            each["function"],
            {name: (fact, needed) for name, (fact, needed) in each["facts"].items()},
            tuple(each["requires"]),
        )
        for each in data.pop("checks")
    )
    return Entry(severity=Severity(data.pop("severity")), checks=checks, **data)


def cache_folder() -> Path:
    """Where the doctor keeps what it can rebuild."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grpo-doctor"


def catalogue_roots() -> dict[str, Path]:
    """Packages that hold problems: our own, and third parties' under the entry-point group ``doctor.checks``."""
    roots = {CATALOGUE: Path(__file__).parent.parent / "checks"}
    for module in _third_parties():
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations:
            roots[module] = Path(next(iter(spec.submodule_search_locations)))
    return roots


def _third_parties() -> Iterator[str]:
    """Modules under the entry-point group, looked up without `importlib.metadata`, whose import alone costs 10 ms."""
    for folder in dict.fromkeys(sys.path):
        try:
            found = [each.path for each in os.scandir(folder) if each.name.endswith(".dist-info")]
        except OSError:
            continue
        for path in found:
            try:
                text = Path(path, "entry_points.txt").read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if GROUP in text:
                yield from _of_group(text)


def _of_group(text: str) -> Iterator[str]:
    from configparser import ConfigParser, Error

    parser = ConfigParser(delimiters=("=",))
    try:
        parser.read_string(text)
    except Error:
        return
    if parser.has_section(GROUP):
        for _, value in parser.items(GROUP, raw=True):
            yield value.partition(":")[0].strip()


#: what was read last, by its signature: a post-mortem asks for the signatures first, and for the rules later
_loaded: dict[int, tuple[tuple[Entry, ...], Mapping[str, str]]] = {}


def load(roots: Mapping[str, Path] | None = None) -> tuple[Entry, ...]:
    """Every problem of the catalogue, in order of id.

    Raises:
        CatalogueError: a problem's file of our own is malformed.

    """
    return load_with_faults(roots)[0]


def load_with_faults(roots: Mapping[str, Path] | None = None) -> tuple[tuple[Entry, ...], Mapping[str, str]]:
    """What :func:`load` gives, and modules of third parties that could not be read: module -> what is wrong.

    Raises:
        CatalogueError: a problem's file of our own is malformed.

    """
    roots = roots or catalogue_roots()
    path = Path(__file__).parent.parent / "_index.json"
    is_made = path.is_file()
    now = signature(roots, with_times=not is_made)
    if now not in _loaded:
        data = _read(path) if is_made else None
        if data is None or data.get("signature") != now:
            data = _built(roots, signature(roots, with_times=True) if is_made else now)
        entries = sorted((_entry(dict(each)) for each in data["entries"]), key=lambda entry: entry.id)
        _loaded.clear()
        _loaded[now] = tuple(entries), data["faults"]
    return _loaded[now]


def _built(roots: Mapping[str, Path], now: int) -> dict[str, Any]:
    """The index as kept in the cache folder; built anew when a file changed."""
    cached = cache_folder() / f"index-{now:08x}.json"
    data = _read(cached)
    if data is None or data.get("signature") != now:
        data = json.loads(json.dumps(build(roots, with_times=True)))
        _keep(cached, data)
    return data


def _read(path: Path) -> dict[str, Any] | None:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _keep(path: Path, data: dict[str, Any]) -> None:
    """Write the index for next time; a read-only home costs only the rebuilding."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(data))
        temporary.replace(path)
    except OSError:
        return
