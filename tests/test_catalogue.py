"""The catalogue's own rules: ids, manuals, words, languages."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import string
from collections import Counter
from pathlib import Path

import pytest
import tomllib

from doctor.core.docs import AREA_WORDS, page, pages, stale, with_area_table
from doctor.core.explain import HEADINGS, manual
from doctor.core.index import Entry
from doctor.core.problem import AREAS, ERROR
from doctor.core.redact import redact_text
from doctor.core.retired_ids import RETIRED

from .catalogue_helpers import ENTRIES, messages

ROOT = Path(__file__).parent.parent
EACH = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)


def test_there_are_at_least_ninety_problems() -> None:
    assert len(ENTRIES) >= 90


def test_ids_and_names_are_unique_and_retired_ones_stay_unused() -> None:
    for key in ("id", "name"):
        twice = [value for value, count in Counter(getattr(entry, key) for entry in ENTRIES).items() if count > 1]
        assert not twice, f"{key}s used twice: {twice}"
    assert not RETIRED.keys() & {entry.id for entry in ENTRIES}
    assert set(RETIRED.values()) <= {entry.id for entry in ENTRIES}


def test_ids_of_an_area_have_no_gaps() -> None:
    taken = {entry.id for entry in ENTRIES} | set(RETIRED)
    for prefix in AREAS.values():
        numbers = sorted(int(each[3:]) for each in taken if each.startswith(prefix))
        assert numbers == list(range(1, len(numbers) + 1)), f"{prefix}: {numbers}"


@EACH
def test_problem_stands_in_its_area(entry: Entry) -> None:
    assert AREAS[entry.area] == entry.id[:3]


@EACH
def test_what_ends_no_run_says_so(entry: Entry) -> None:
    assert importlib.import_module(entry.module).PROBLEM.ends_run == entry.ends_run
    assert not (entry.area == "perf" and entry.ends_run), "a slow run goes on"
    assert entry.ends_run or entry.severity is not ERROR, "an error ends a run, or ruins it"
    assert ("No run ends of it." in page(entry)) != entry.ends_run


@EACH
def test_manual_has_every_heading_and_a_reference(entry: Entry) -> None:
    text = manual(entry)
    assert tuple(text.sections) == HEADINGS
    assert all(section.strip() for section in text.sections.values())
    assert re.search(r"https://[^\s]+\.[^\s]+", text.sections["References"])
    assert not text.title.endswith("."), "the index strips the period; two would be too many"
    assert len(text.title) <= 110


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
            assert importlib.import_module(f"doctor.facts.{fact}").collect.__doctor_fact__
    tree = ast.parse(inspect.getsource(importlib.import_module(entry.module)))
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    modules = {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {each.split(".")[0] for each in modules}
    assert not imported & {"rich", "click", "subprocess", "torch", "os", "socket", "psutil", "pynvml"}
    # what reads logs, draws and talks to the user hands its facts over, and is not asked
    assert not [each for each in modules if each.startswith(("doctor.logs", "doctor.render", "doctor.cli"))]


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@EACH
def test_words_follow_the_house_rules(entry: Entry) -> None:
    assert not entry.checks or list(messages(entry)), "a check needs a message"
    for name, message in messages(entry):
        for words in (message.en, message.zh):
            if words is None:
                continue
            assert not words.headline.endswith((".", "。")), f"{name}: headline ends with a period"
            assert "\n" not in words.headline
            for part in ("explanation", "remedy"):  # a brace at the end holds a sentence of its own
                assert getattr(words, part).rstrip().endswith(_ENDS), f"{name}: {part} is no sentence"
        ours = re.sub(r"`[^`]*`", "", " ".join(vars(message.en).values()))  # what stands in backticks is quoted
        assert not re.search(r"(?i)\b(please|simply)\b|might possibly", ours), name
        headline = string.Formatter().vformat(message.en.headline, (), _Blank())
        assert len(headline) <= 90, f"{name}: {len(headline)} columns without its values: {headline}"


_ENDS = (".", "。", "`", ")", ")", "}")


class _Blank(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "8"


@EACH
def test_both_languages_fill_the_same_braces(entry: Entry) -> None:
    for name, message in messages(entry):
        if message.zh is None:
            continue
        for part in ("headline", "explanation", "remedy"):
            en, zh = _placeholders(getattr(message.en, part)), _placeholders(getattr(message.zh, part))
            # `{who_zh}` is the Chinese form of `{who}`
            known = _all_placeholders(message.en)
            assert {each.removesuffix("_zh") for each in zh} <= known, f"{name}.{part}: {zh - en}"


@EACH
def test_words_look_like_no_secret(entry: Entry) -> None:
    """What is redacted in a report would swallow the words behind it as well, in Chinese up to the next blank."""
    for name, message in messages(entry):
        for words in (message.en, message.zh):
            for part, text in vars(words).items() if words is not None else ():
                assert redact_text(text) == text, f"{name}: {part}"


def _all_placeholders(words: object) -> set[str]:
    return set().union(*(_placeholders(text) for text in vars(words).values()))


def test_every_message_has_chinese_words() -> None:
    lacking = [f"{entry.id} {name}" for entry in ENTRIES for name, message in messages(entry) if message.zh is None]
    assert not lacking, f"{len(lacking)} messages lack Chinese words: {lacking}"


def test_every_folder_with_an_init_is_packaged() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {"doctor": "doctor", "checks": "doctor.checks", "monitors": "doctor.monitors", "fixes": "doctor.fixes"}
    wanted = set()
    for folder, package in folders.items():
        for path in (ROOT / folder).rglob("__init__.py"):
            if not any(parent.is_symlink() for parent in path.parents):
                relative = path.parent.relative_to(ROOT / folder).parts
                wanted.add(".".join((package, *relative)))
    assert set(config["packages"]) == wanted


def test_generated_pages_are_current() -> None:
    assert not stale(ROOT / "docs" / "problems", pages()), "run `doctor dev docs`"


@pytest.mark.parametrize(("name", "language"), [("README.md", "en"), ("README.zh.md", "zh")])
def test_table_of_areas_is_current(name: str, language: str) -> None:
    text = (ROOT / name).read_text()
    assert with_area_table(text, language) == text, "run `doctor dev docs`"


def test_every_area_has_words_for_the_readme() -> None:
    assert AREA_WORDS.keys() == AREAS.keys()
