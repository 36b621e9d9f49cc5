"""The catalogue's own rules: ids, manuals, words, languages."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
import tomllib
from referencing import Registry, Resource

from doctor.catalogue.index import Entry
from doctor.catalogue.manual import HEADINGS, manual
from doctor.catalogue.pages.docs import page, pages, stale, write
from doctor.catalogue.pages.scaffold import new_id
from doctor.catalogue.problem import AREAS
from doctor.catalogue.problem_files import declared
from doctor.catalogue.retired_ids import NAMES, RETIRED
from doctor.cli.dev_lint import faults_of
from doctor.readers.collector import provider

from .catalogue_helpers import ENTRIES
from .each import for_each

ROOT = Path(__file__).parent.parent
EACH = for_each("entry", ((entry.id, entry) for entry in ENTRIES))


def test_there_are_at_least_ninety_problems() -> None:
    assert len(ENTRIES) >= 90


def test_ids_and_names_are_unique_and_retired_ones_stay_unused() -> None:
    for key in ("id", "name"):
        known = Counter(getattr(entry, key) for entry in ENTRIES if key == "id" or not entry.is_row)
        twice = [value for value, count in known.items() if count > 1]
        assert not twice, f"{key}s used twice: {twice}"
    assert not RETIRED.keys() & {entry.id for entry in ENTRIES}
    assert set(NAMES.values()) <= RETIRED.keys()
    assert not NAMES.keys() & {entry.name for entry in ENTRIES}
    assert set(RETIRED.values()) <= {entry.id for entry in ENTRIES}


def test_new_ids_come_from_the_name_and_collide_with_none() -> None:
    taken = {entry.id for entry in ENTRIES} | set(RETIRED)
    names = [f"made-up-{number}" for number in range(300)]
    new = [new_id("vllm", name) for name in names]
    assert all(re.fullmatch(r"VLL[0-9]{4}", each) for each in new)
    assert not taken & set(new)
    assert new_id("vllm", names[0]) == new[0], "the same name gives the same id"
    assert len(set(new)) > 0.97 * len(new), "two contributors hardly ever take the same one"


@EACH
def test_what_ends_no_run_says_so(entry: Entry) -> None:
    assert declared(entry).problem.ends_run == entry.ends_run
    if not entry.rows and not entry.is_row:
        assert ("No run ends of it." in page(entry)) != entry.ends_run


@EACH
def test_lint_finds_no_fault(entry: Entry) -> None:
    assert list(faults_of(entry, {each.id for each in ENTRIES})) == []


def test_lint_of_the_catalogue_finds_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exit code and its words are those of `doctor dev lint`; what each problem has is told above by its name."""
    from click.testing import CliRunner

    from doctor.cli import dev_lint
    from doctor.cli.dev import command

    asked: list[str] = []
    monkeypatch.setattr(dev_lint, "faults_of", lambda entry, _: asked.append(entry.id) or ())
    done = CliRunner().invoke(command, ["lint"], standalone_mode=False)
    assert (done.return_value, done.output) == (0, "no fault found\n")
    assert asked == [entry.id for entry in ENTRIES]


def test_lint_of_the_catalogue_names_the_problem_with_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    from doctor.cli import dev_lint

    faulty = ENTRIES[0]
    monkeypatch.setattr(dev_lint, "faults_of", lambda entry, _: ["it is odd"] * (entry is faulty))
    monkeypatch.setattr(dev_lint, "load", lambda: ENTRIES)
    assert list(dev_lint.faults_of_catalogue()) == [f"{faulty.id} {faulty.name}: it is odd"]


def test_title_of_the_index_has_no_period() -> None:
    assert not [entry.id for entry in ENTRIES if manual(entry).title.endswith(".")]


@pytest.mark.parametrize(
    ("kind", "pattern"), [("problem", "*.toml"), ("problem-zh", "zh/*.toml"), ("words", "_*.toml")]
)
def test_files_follow_their_schema(kind: str, pattern: str) -> None:
    name = f"{kind}.schema.json"
    schemas = {each.name: json.loads(each.read_text()) for each in (ROOT / "doctor" / "data").glob("*.schema.json")}
    registry = Registry().with_resources([(key, Resource.from_contents(each)) for key, each in schemas.items()])
    validator = jsonschema.Draft202012Validator(schemas[name], registry=registry)
    paths = [each for each in (ROOT / "checks").rglob(pattern) if ("zh" in each.parent.name) == ("zh" in kind)]
    paths = [each for each in paths if kind == "problem-zh" or each.name.startswith("_") == (kind == "words")]
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        wrong = [f"{path}: {each.json_path}: {each.message}" for each in validator.iter_errors(tomllib.loads(text))]
        assert not wrong, wrong
        named = re.match(r"#:schema (\S+)\n", text)
        assert named, f"{path}: the first line names the schema"
        assert (path.parent / named[1]).resolve() == ROOT / "doctor" / "data" / name


def test_words_stand_in_toml() -> None:
    """A translator finds all of them there: no Python below `checks/` holds a Chinese character."""
    chinese = re.compile(r"[\u4e00-\u9fff]")
    assert not [each for each in (ROOT / "checks").rglob("*.py") if chinese.search(each.read_text(encoding="utf-8"))]


def test_patterns_stand_whole_on_their_line() -> None:
    """So that grep finds an error's words."""
    for entry in ENTRIES:
        if entry.words is None or entry.is_row:
            continue
        path = ROOT.joinpath("checks", *entry.module.split(".")[2:]).with_suffix(".toml")
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.startswith("pattern = ")]
        patterns = [tomllib.loads(line)["pattern"] for line in lines]
        parts = [each for each in ENTRIES if each.family == entry.id]
        assert set(patterns) == {each.pattern for part in parts for each in declared(part).signatures}, path
        assert not [line for line in lines if line.startswith('pattern = "')], f"{path}: in single quotes"


@EACH
def test_affects_are_ranges_of_known_packages(entry: Entry) -> None:
    from packaging.specifiers import SpecifierSet
    from packaging.utils import canonicalize_name

    for name, specifier in entry.affects.items():
        SpecifierSet(specifier)
        assert canonicalize_name(name) == name


@EACH
def test_checks_are_pure_and_their_facts_exist(entry: Entry) -> None:
    for each in entry.checks:
        for fact, _ in each.facts.values():
            assert provider(fact).timeout_s > 0
    if not entry.has_code:
        assert all(each.table for each in entry.checks)  # those of its table, which are judged there, and triggers
        return
    tree = ast.parse(inspect.getsource(importlib.import_module(entry.module)))
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    modules = {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {each.split(".")[0] for each in modules}
    assert not imported & {"rich", "click", "subprocess", "torch", "os", "socket", "psutil", "pynvml"}
    # what reads logs, draws and talks to the user hands its facts over, and is not asked
    assert not [each for each in modules if each.startswith(("doctor.logs", "doctor.render", "doctor.cli"))]


@EACH
def test_the_index_knows_by_which_functions_its_code_judges(entry: Entry) -> None:
    """The engine imports no file that the index says has none of them."""
    table = entry.module.rpartition(".")[0]
    files = [name for name, has in ((entry.module, entry.has_code), (table, entry.shares_code)) if has]
    names = {name for each in files for name in vars(importlib.import_module(each))}
    assert set(entry.judges) == {each for each in names if each.startswith("of_") or each in ("explain", "answer")}


def test_every_problem_has_a_page_with_its_manual() -> None:
    made = pages()
    shown = [entry for entry in ENTRIES if not entry.is_row]
    assert made.keys() == {"README.md", *(f"{entry.id}.md" for entry in shown)}
    for entry in ENTRIES:
        if entry.is_row:
            assert f"\n## {entry.id}\n" in made[f"{entry.family}.md"]
            continue
        assert all(f"\n## {heading}\n" in made[f"{entry.id}.md"] for heading in HEADINGS)
        assert f"[{entry.id}]({entry.id}.md)" in made["README.md"]


def test_pages_are_written_checked_and_cleared_away(tmp_path: Path) -> None:
    wanted = {"README.md": "all\n", "VLL001.md": "one\n"}
    write(tmp_path, wanted)
    assert not stale(tmp_path, wanted)
    (tmp_path / "VLL001.md").write_text("another\n")
    (tmp_path / "VLL002.md").write_text("gone\n")
    assert {each.name for each in stale(tmp_path, wanted)} == {"VLL001.md", "VLL002.md"}
    write(tmp_path, wanted)
    assert {each.name for each in tmp_path.iterdir()} == set(wanted)


@pytest.mark.parametrize("name", ["output.md", "output.zh.md"])
def test_the_docs_name_every_area(name: str) -> None:
    told = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / name).read_text(), re.MULTILINE)
    assert [each for each in told if each in AREAS] == [each for each in AREAS if any(e.area == each for e in ENTRIES)]
