"""The index of the catalogue: what each problem's files declare, read without importing them.

A problem is a TOML with its words, and a Python file of the same name where it takes judgement; third parties may
write a Python file alone, which declares all. The index lets the runner import only the checks whose facts exist and
whose versions apply; the words lie beside it, one line of JSON a problem, each parsed when it is asked for; so do the
words that several problems share (``_<name>.toml``, which is no problem). A wheel
carries both ready made; elsewhere they are rebuilt when any file of the catalogue changed and kept in the user's cache
folder.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from doctor.base.garbage import without_garbage_collection
from doctor.base.record import record, replace, restored, unusual
from doctor.base.tabled import columns_of, rows_of
from doctor.base.whole_file import write_whole
from doctor.catalogue.check import wanted_facts
from doctor.catalogue.malformed import CHINESE, CatalogueError
from doctor.catalogue.problem import AREA_OF, ERROR, INFO, ROW, WARNING, Severity

FORMAT = 14  # raise when Entry or the index changes
CATALOGUE = "doctor.checks"
_PACKAGE = Path(__file__).parent.parent
_OWN = _PACKAGE / "checks"
GROUP = "doctor.checks"  # entry points of third parties
INDEX, WORDS = "_index.json", "_words.jsonl"  # in a wheel
MANUAL = "manual"  # the table of a TOML that has a line of its own among the words
#: what has one, too: a check asks for it when it found something, most of them never; `NAMES` are those of its messages
_SAID = frozenset({"messages", "phrases", "signatures"})
NAMES = "names"
#: start in bytes among the words, lengths of three lines: what else a TOML declares, what it says, its manual
Place = tuple[int, int, int, int]
#: functions of a problem that parts of the engine ask for, beside those whose names begin with `of_`
_ASKED = frozenset({"explain", "answer"})
ANY_NAME = "*"
_OF_SEVERAL = frozenset({"judges", "requires", "rows", "words"})  # fields that JSON holds as lists
_SEVERITIES = {"ERROR": ERROR, "WARNING": WARNING, "INFO": INFO}
_BY_WORD = {each.value: each for each in _SEVERITIES.values()}


@record
class CheckEntry:
    """A check function.

    Args:
        function: its name.
        facts: parameter -> (fact, needed).
        requires: ids of the problems that make it moot.
        table: dotted name of the package whose rows share it, which takes the words of the row first; "" for the
            check of one problem.
        mute_without: a fact that it may lack, and then says nothing, whatever its other facts are; "" for none.

    """

    function: str
    facts: Mapping[str, tuple[str, bool]]
    requires: tuple[str, ...] = ()
    table: str = ""
    mute_without: str = ""

    @cached_property
    def takes(self) -> frozenset[str]:
        """All facts that it looks at."""
        return frozenset(fact for fact, _ in self.facts.values())

    @cached_property
    def needs(self) -> frozenset[str]:
        """Those that it cannot do without."""
        return frozenset(fact for fact, needed in self.facts.values() if needed)


#: the check of a problem whose TOML declares triggers, which all such problems share
TRIGGERED = CheckEntry("judge", table="doctor.catalogue.shared.triggers", mute_without="launch", facts={
    "launch": ("launch", False), "packages": ("packages", False), "world": ("world", False),
    "training": ("training", False), "verl": ("verl_config", False), "framework": ("framework_config", False),
    "model": ("model", False), "dataset": ("dataset", False), "script": ("script", False),
    "environment": ("environment", False), "gpus": ("gpus", False),
    "accelerate": ("accelerate_config", False), "deepspeed": ("deepspeed_config", False),
})  # fmt: skip


@record
class Entry:
    """A problem as its files declare it.

    Args:
        id, name, severity, since, affects, ends_run, about: of the problem; each row of a table is an entry, too.
        bites: when it does, a word of `doctor.catalogue.bites.STAGES`; "" as is usual in its area.
        module: dotted name of its files, without their endings.
        title: of its manual.
        checks: functions of its Python file.
        has_signatures, has_rule: how else it is found.
        has_code: whether there is a Python file; `shares_code`: whether there is one of its table.
        judges: names there that the engine asks for besides checks and rule (`of_loop`, `explain`); `ANY_NAME` where
            only its import tells.
        rows: ids of the rows, where it is a table.
        words: where it stands among the words; None where Python alone declares it.

    """

    id: str
    name: str
    severity: Severity
    since: str
    module: str
    title: str
    affects: Mapping[str, str] = field(default_factory=dict)
    ends_run: bool = True
    about: str = ""
    bites: str = ""
    checks: tuple[CheckEntry, ...] = ()
    has_signatures: bool = False
    has_rule: bool = False
    has_code: bool = True
    shares_code: bool = False
    judges: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    words: Place | None = None

    @cached_property
    def area(self) -> str:
        """Folder below ``checks/`` that holds it, itself or in a folder by topic: ``vllm``."""
        return AREA_OF.get(self.id[:3]) or self.module.split(".")[-2]

    @property
    def family(self) -> str:
        """Its id without the row."""
        return self.id.partition(ROW)[0]

    @property
    def is_row(self) -> bool:
        """Whether it is a row of a table."""
        return ROW in self.id

    def may_have(self, function: str) -> bool:
        """Whether its Python file, or that of its table, has a function by which a part of the engine judges."""
        return function in self.judges or ANY_NAME in self.judges or not _is_judge(function)


def read_entry(source: str, module: str, path: str, declared: Mapping[str, Any] | None = None) -> Entry | None:
    """What a Python file declares; None when it declares no problem (a helper module).

    Args:
        source: of the file.
        module: dotted name.
        path: of the file.
        declared: what the TOML beside it declares, where there is one.

    Raises:
        CatalogueError: the declaration cannot be read without running it.

    """
    tree = ast.parse(source, path)
    told: dict[str, Any] = {
        "checks": tuple(_checks(tree)),
        "has_rule": any(_decorator(node, "rule") for node in tree.body if isinstance(node, ast.ClassDef)),
        "judges": _judges(tree),
    }
    if declared is not None:
        return _declared_entry(declared, module, **told)
    problem = next((call for name, call in _assigned_calls(tree) if name == "PROBLEM"), None)
    if problem is None:
        return None
    fields = _problem_fields(problem, path)
    assigned = {name for name, _ in _assigned_names(tree)}
    title = (ast.get_docstring(tree) or "").partition("\n")[0].rstrip(".")
    return Entry(module=module, title=title, has_signatures="SIGNATURES" in assigned, **told, **fields)


def _declared_entry(declared: Mapping[str, Any], module: str, **told: Any) -> Entry:
    """The entry of a problem whose TOML declares it; `told` is what its Python file tells."""
    names = ("id", "name", "since", "affects", "ends_run", "about", "bites")
    fields = {name: declared[name] for name in names if name in declared}
    if declared["triggers"]:
        told["checks"] = (*told.get("checks", ()), TRIGGERED)
    return Entry(
        severity=Severity(declared["severity"]), module=module, title=declared["manual"]["title"].rstrip("."),
        has_signatures=bool(declared["signatures"]), **fields, **told,
    )  # fmt: skip


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


def _checks(tree: ast.Module, table: str = "") -> Iterator[CheckEntry]:
    """The checks that a file declares; of the package of a `table` those that its rows share."""
    for node in tree.body:
        name = "check_of_rows" if table else "check"
        if not isinstance(node, ast.FunctionDef) or not (decorator := _decorator(node, name)):
            continue
        told = node.args.args[1:] if table else node.args.args
        annotations = {each.arg: ast.unparse(each.annotation) for each in told if each.annotation is not None}
        requires = next((ast.literal_eval(each.value) for each in decorator.keywords if each.arg == "requires"), ())
        yield CheckEntry(node.name, wanted_facts(annotations), tuple(requires), table)


def _judges(tree: ast.Module) -> tuple[str, ...]:
    """Names by which the engine may ask, in a stable order: of functions, of what is imported, of what is assigned."""
    found = set(_bound(tree.body))
    return tuple(sorted(each for each in found if each == ANY_NAME or _is_judge(each)))


def _is_judge(name: str) -> bool:
    return name in _ASKED or name.startswith("of_")


def _bound(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Names that statements of a module bind or may bind; `ANY_NAME` for what cannot be told."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (each.asname or each.name for each in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else (node.target,)
            yield from (name.id for each in targets for name in ast.walk(each) if isinstance(name, ast.Name))
        elif isinstance(node, ast.If):
            yield from _bound((*node.body, *node.orelse))
        elif not isinstance(node, ast.Expr):
            yield ANY_NAME


@record
class ProblemFiles:
    """The files of one problem: the same name with different endings.

    Args:
        dotted: name below the root: ``vllm.api_server_gone``, with a folder by topic ``vllm.serving.api_server_gone``.
        code: the Python file.
        toml: the English TOML.
        rows: of a table: Python files of its rows, in a package of the table's name, which is the Python file then.

    """

    dotted: str
    code: os.DirEntry[str] | None = None
    toml: os.DirEntry[str] | None = None
    rows: Mapping[str, os.DirEntry[str]] = field(default_factory=dict)


def _files(root: Path) -> list[ProblemFiles]:
    """What may declare a problem, in a stable order; folders of any depth below those of the areas."""
    found: list[ProblemFiles] = []
    for area in _scanned(root):
        if area.is_dir() and not area.name.startswith((".", "_")):
            found += _files_below(area.path, area.name)
    return found


def _scanned(folder: str | Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    return sorted(os.scandir(folder), key=lambda each: each.name)


def _files_below(folder: str, dotted: str) -> Iterator[ProblemFiles]:
    by_stem: dict[str, dict[str, Any]] = {}
    for each in _scanned(folder):
        if each.name.startswith((".", "_")):
            continue
        stem, _, ending = each.name.rpartition(".")
        if ending in ("py", "toml") and stem:
            by_stem.setdefault(stem, {})["code" if ending == "py" else ending] = each
        elif each.name != CHINESE and each.is_dir():
            if Path(folder, f"{each.name}.toml").is_file():
                by_stem.setdefault(each.name, {}).update(_files_of_table(each))
            else:
                yield from _files_below(each.path, f"{dotted}.{each.name}")
    yield from (ProblemFiles(f"{dotted}.{stem}", **files) for stem, files in by_stem.items())


def _files_of_table(folder: os.DirEntry[str]) -> dict[str, Any]:
    """The code of a table, which is the package's own, and that of its rows."""
    files = {each.name: each for each in _scanned(folder.path)}
    rows = {name[: -len(".py")]: each for name, each in files.items() if name.endswith(".py") and name[0] not in "._"}
    return {"rows": rows, "code": files.get("__init__.py")}


def _sources(root: str | Path) -> Iterator[os.DirEntry[str]]:
    """Every file below a root of which the catalogue is made, Chinese words included."""
    folders = [str(root)]
    for folder in folders:  # it grows
        for each in os.scandir(folder):
            name = each.name
            if name.endswith((".toml", ".py")):
                if folder is not folders[0] and (name[0] not in "._" or _is_shared(name)):
                    yield each
            elif name[0] not in "._" and each.is_dir():
                folders.append(each.path)


def _is_shared(name: str) -> bool:
    """Whether a file has what several problems share: words, or the code of a table."""
    return name == "__init__.py" or (name.startswith("_") and name.endswith(".toml"))


def _shared(root: Path) -> Iterator[tuple[str, Path]]:
    """Dotted names below a root, and files, of the words that several problems share; Chinese is found from there."""
    for path in sorted(root.rglob("_*.toml")):
        if path.parent.name != CHINESE:
            yield ".".join((*path.parent.relative_to(root).parts, path.stem)), path


def signature(roots: Mapping[str, Path]) -> int:
    """A number that changes when a file of the catalogue is added, removed or changed: of names, sizes and dates."""
    crc = FORMAT
    for package, root in roots.items():
        seen, start = [], len(str(root))
        for each in _sources(root):
            stat = each.stat()
            seen.append(f"{each.path[start:]} {stat.st_size} {stat.st_mtime_ns}")
        crc = zlib.crc32("\n".join((package, *sorted(seen))).encode(), crc)
    return crc


@record
class Built:
    """The index as JSON-able data, and the words that it points into."""

    index: dict[str, Any]
    words: bytes


def build(roots: Mapping[str, Path], now: int = 0) -> Built:
    """Read every file of the catalogue.

    A malformed file of a third party is told under ``faults`` (module -> what is wrong) and the others count.

    Args:
        roots: package name -> folder.
        now: the signature of these folders.

    Raises:
        CatalogueError: one of our own is malformed.
        SyntaxError: one of our own is no Python.

    """
    entries, shared, faults, words = [], {}, {}, bytearray()
    checks: dict[str, tuple[int, CheckEntry]] = {}
    for package, root in roots.items():
        for files in _files(root):
            module = f"{package}.{files.dotted}"
            try:
                read = list(_read_problem(module, files))
            except (CatalogueError, SyntaxError, ValueError, OSError) as exc:
                if package == CATALOGUE:
                    raise
                faults[module] = f"{type(exc).__name__}: {exc}"
                continue
            for entry, declared in read:
                place = {} if declared is None else {"words": _added(words, declared)}
                entries.append({**_told(entry, checks), **place})
        for dotted, declared in _shared_words(package, root, faults):
            shared[f"{package}.{dotted}"] = _added(words, declared)
    entries.sort(key=lambda each: each["id"].partition(ROW)[0])
    told = {
        "entries": columns_of(entries), "count": len(entries), "checks": _told_checks(checks.values()),
        "shared": shared, "faults": faults,
    }  # fmt: skip
    return Built({"signature": now, "words": len(words), **told}, bytes(words))


def _told(entry: Entry, checks: dict[str, tuple[int, CheckEntry]]) -> dict[str, Any]:
    """An entry without what is usual, for every start reads a thousand; of its checks their places among all.

    Args:
        entry: of a problem or a row.
        checks: every check so far by its words -> its place, and itself; grows.

    """
    told = unusual(entry)
    if entry.checks:
        told["checks"] = [checks.setdefault(repr(each), (len(checks), each))[0] for each in entry.checks]
    return told


def _told_checks(checks: Iterable[tuple[int, CheckEntry]]) -> dict[str, Any]:
    """Checks as columns; many have the same facts, which stand there once."""
    facts: dict[str, tuple[int, Any]] = {}
    rows = []
    for _, each in checks:
        wanted = facts.setdefault(json.dumps(each.facts), (len(facts), each.facts))[0]
        rows.append({**unusual(each), "facts": wanted})
    return {"columns": columns_of(rows), "count": len(rows), "facts": [each for _, each in facts.values()]}


def _added(words: bytearray, declared: Mapping[str, Any]) -> Place:
    """Write what a TOML declares behind the words, in lines: few ask for what it says, fewer for its manual."""
    start, lengths = len(words), []
    head = {key: each for key, each in declared.items() if key != MANUAL and key not in _SAID}
    head[NAMES] = list(declared.get("messages", ()))
    for part in (head, {key: each for key, each in declared.items() if key in _SAID}, declared.get(MANUAL, {})):
        line = json.dumps(part, ensure_ascii=False).encode()
        lengths.append(len(line))
        words += line + b"\n"
    return start, lengths[0], lengths[1], lengths[2]


def _shared_words(package: str, root: Path, faults: dict[str, str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for dotted, path in _shared(root):
        from doctor.catalogue.problem_toml import read_words

        try:
            declared = read_words(path)
        except (CatalogueError, OSError) as exc:
            if package == CATALOGUE:
                raise
            faults[f"{package}.{dotted}"] = f"{type(exc).__name__}: {exc}"
            continue
        yield dotted, declared


def _read_problem(module: str, files: ProblemFiles) -> Iterator[tuple[Entry, Mapping[str, Any] | None]]:
    """A problem with what its TOML declares; behind a table each of its rows."""
    declared: dict[str, Any] | None = None
    if files.toml is not None:
        from doctor.catalogue.problem_toml import read

        declared = read(Path(files.toml.path))
    rows: Mapping[str, Any] = declared.pop("rows", {}) if declared is not None else {}
    if strays := sorted(files.rows.keys() - rows.keys()):
        msg = f"{module}: the table has no row {', '.join(strays)}"
        raise CatalogueError(msg)
    entry = _entry_of(module, files.code, declared)
    if entry is None:
        return
    yield replace(entry, rows=tuple(each["id"] for each in rows.values())), declared
    shared = tuple(_checks(_parsed(files.code), module)) if rows and files.code is not None else ()
    judges = entry.judges
    for name, row in rows.items():
        of_row = _entry_of(f"{module}.{name}", files.rows.get(name), row)
        assert of_row is not None  # noqa: S101 - for the type checker: a row is declared
        names = tuple(sorted({*of_row.judges, *judges}))
        yield replace(of_row, shares_code=entry.has_code, checks=of_row.checks or shared, judges=names), row


def _parsed(code: os.DirEntry[str]) -> ast.Module:
    return ast.parse(Path(code.path).read_text(encoding="utf-8"), code.path)


def _entry_of(module: str, code: os.DirEntry[str] | None, declared: Mapping[str, Any] | None) -> Entry | None:
    if code is not None:
        return read_entry(Path(code.path).read_text(encoding="utf-8"), module, code.path, declared)
    assert declared is not None  # noqa: S101 - for the type checker: one of the two files is there
    return _declared_entry(declared, module, has_code=False)


def _restored_entries(index: Mapping[str, Any]) -> tuple[Entry, ...]:
    checks = _restored_checks(index["checks"])
    rows = rows_of(index["entries"], index["count"], _OF_SEVERAL)
    for row in rows:
        row["severity"] = _BY_WORD[row["severity"]]
        if "checks" in row:
            row["checks"] = tuple([checks[each] for each in row["checks"]])
    return tuple([restored(Entry, row) for row in rows])


def _restored_checks(told: Mapping[str, Any]) -> list[CheckEntry]:
    facts = [{name: (fact, needed) for name, (fact, needed) in each.items()} for each in told["facts"]]
    rows = rows_of(told["columns"], told["count"], _OF_SEVERAL)
    for row in rows:
        row["facts"] = facts[row["facts"]]
    return [restored(CheckEntry, row) for row in rows]


def _place(kept: Sequence[int]) -> Place:
    start, head, said, manual = kept
    return start, head, said, manual


def cache_folder() -> Path:
    """Where the doctor keeps what it can rebuild."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grpo-doctor"


def catalogue_roots() -> dict[str, Path]:
    """Packages that hold problems: our own, and third parties' under the entry-point group ``doctor.checks``."""
    roots = {CATALOGUE: _OWN}
    for module in _third_parties(tuple(sys.path)):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations:
            roots[module] = Path(next(iter(spec.submodule_search_locations)))
    return roots


@cache
def _third_parties(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Modules under the entry-point group, looked up without `importlib.metadata`, whose import alone costs 10 ms."""
    return tuple(_declared_in(folders))


def _declared_in(folders: tuple[str, ...]) -> Iterator[str]:
    for folder in dict.fromkeys(folders):
        try:
            found = [each.path for each in os.scandir(folder) if each.name.endswith(".dist-info")]
        except OSError:
            continue
        for path in found:
            try:
                with open(f"{path}/entry_points.txt", "rb") as file:  # noqa: PTH123 - each start does this a hundred times
                    told = file.read()
            except OSError:
                continue
            if GROUP.encode() in told:
                yield from _of_group(told.decode("utf-8", "replace"))


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


@record
class Loaded:
    """The catalogue as it was read last; a post-mortem asks for the signatures first, and for the rules later."""

    entries: tuple[Entry, ...]
    faults: Mapping[str, str]
    words: bytes
    shared: Mapping[str, Place] = field(default_factory=dict)

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """Dotted name of files -> where what their TOML declares stands among the words."""
        return {**self.shared, **{each.module: each.words for each in self.entries if each.words is not None}}


_loaded: dict[tuple[str, ...], tuple[int, Loaded]] = {}


def load(roots: Mapping[str, Path] | None = None) -> tuple[Entry, ...]:
    """Every problem of the catalogue, in order of id; behind a table its rows, each an entry.

    Raises:
        CatalogueError: a problem's file of our own is malformed.

    """
    return _load(roots).entries


def problems(roots: Mapping[str, Path] | None = None) -> tuple[Entry, ...]:
    """The same without the rows of tables: what a list shows.

    Raises:
        CatalogueError: a problem's file of our own is malformed.

    """
    return tuple(each for each in load(roots) if not each.is_row)


def load_with_faults(roots: Mapping[str, Path] | None = None) -> tuple[tuple[Entry, ...], Mapping[str, str]]:
    """What :func:`load` gives, and modules of third parties that could not be read: module -> what is wrong.

    Raises:
        CatalogueError: a problem's file of our own is malformed.

    """
    loaded = _load(roots)
    return loaded.entries, loaded.faults


def declared_in(module: str) -> Mapping[str, Any]:
    """What the TOML of a module declares, but for its manual.

    Args:
        module: dotted name of the problem's files, or of those with words that several problems share.

    Raises:
        KeyError: there is none.
        CatalogueError: a problem's file of our own is malformed.

    """
    head = {name: each for name, each in head_in(module).items() if name != NAMES}
    return {**head, **said_in(module)}


def head_in(module: str) -> Mapping[str, Any]:
    """The same without messages, phrases and signatures; `names` are those of its messages.

    Raises:
        KeyError: there is no such TOML.
        CatalogueError: a problem's file of our own is malformed.

    """
    return _line(module, 0)


def said_in(module: str) -> Mapping[str, Any]:
    """The messages, phrases and signatures in the TOML of a module.

    Raises:
        KeyError: there is no such TOML.
        CatalogueError: a problem's file of our own is malformed.

    """
    return _line(module, 1)


def manual_in(module: str) -> Mapping[str, str]:
    """The sections of the manual in the TOML of a module, and its title; empty where that holds words alone.

    Raises:
        KeyError: there is no such TOML.
        CatalogueError: a problem's file of our own is malformed.

    """
    return _line(module, 2)


def _line(module: str, number: int) -> Mapping[str, Any]:
    """One of the lines that :func:`_added` wrote of a module."""
    loaded = _having(module)
    start, *lengths = loaded.places[module]
    start += sum(lengths[:number]) + number
    told: Mapping[str, Any] = json.loads(loaded.words[start : start + lengths[number]])
    return told


def _having(module: str) -> Loaded:
    """The catalogue that holds a module's words."""
    return next((each for _, each in _loaded.values() if module in each.places), None) or _load(None)


def having_words() -> tuple[str, ...]:
    """Every module beside which a TOML stands."""
    return tuple(_load(None).places)


def stamp(roots: Mapping[str, Path]) -> int:
    """A number by which what is made of the catalogue may be kept.

    The files of an installed wheel are taken to be those that it was made of; third parties are looked through, and
    a checkout once in a process: it has thousands of files, and every command asks several times.
    """
    if _is_made(roots):
        return FORMAT
    return _of_the_checkout() if roots == {CATALOGUE: _OWN} else signature(roots)


@cache
def _of_the_checkout() -> int:
    return signature({CATALOGUE: _OWN})


def _is_made(roots: Mapping[str, Path]) -> bool:
    return list(roots) == [CATALOGUE] and (_PACKAGE / INDEX).is_file()


def _load(roots: Mapping[str, Path] | None) -> Loaded:
    roots = roots or catalogue_roots()
    key, now = tuple(roots), stamp(roots)
    known = _loaded.get(key)
    if known is not None and known[0] == now:
        return known[1]
    made = _read(_PACKAGE / INDEX, _PACKAGE / WORDS) if _is_made(roots) else None
    built = made or _built(roots, signature(roots) if _is_made(roots) else now)
    with without_garbage_collection():
        entries = _restored_entries(built.index)
    shared = {name: _place(each) for name, each in built.index["shared"].items()}
    loaded = Loaded(entries, built.index["faults"], built.words, shared)
    _loaded[key] = (now, loaded)
    return loaded


def _built(roots: Mapping[str, Path], now: int) -> Built:
    """The catalogue as kept in the cache folder; built anew when a file changed."""
    index, words = cache_folder() / f"index-{now:08x}.json", cache_folder() / f"words-{now:08x}.jsonl"
    kept = _read(index, words)
    if kept is not None and kept.index.get("signature") == now:
        return kept
    built = build(roots, now)
    built = Built(json.loads(json.dumps(built.index)), built.words)
    _keep(words, built.words)
    _keep(index, json.dumps(built.index).encode())
    _sweep(index.parent)
    return built


def _read(index: Path, words: Path) -> Built | None:
    try:
        with without_garbage_collection():
            data, text = json.loads(index.read_bytes()), words.read_bytes()
    except (OSError, ValueError):
        return None
    if not isinstance(data, dict) or data.get("words") != len(text):
        return None
    return Built(data, text)


def write(built: Built, folder: Path) -> None:
    """Write the catalogue into the package, as a wheel carries it.

    Raises:
        OSError: the folder cannot be written.

    """
    (folder / INDEX).write_text(json.dumps(built.index), encoding="utf-8")
    (folder / WORDS).write_bytes(built.words)


#: several environments, and a checkout under work, share a home; what was made a short while ago somebody may be using
_KEPT, _KEPT_S = 6, 24 * 3600


def _sweep(folder: Path) -> None:
    """Take the oldest catalogues of days before away: each change of a file makes one, of several megabytes."""
    with suppress(OSError):
        for pattern in ("index-*.json", "words-*.jsonl"):
            by_age = sorted((each.stat().st_mtime, each) for each in folder.glob(pattern))
            for made, each in by_age[:-_KEPT]:
                if made < time.time() - _KEPT_S:
                    each.unlink(missing_ok=True)


def _keep(path: Path, data: bytes) -> None:
    """Write it for next time; a read-only home costs only the rebuilding."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError:
        return
