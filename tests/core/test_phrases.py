"""`[phrase]` of a TOML: words that a message takes in, chosen by Python, said in the language of the message."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.catalogue.finding import Message, Phrase, Words, found, joined, said
from doctor.catalogue.index import having_words, load
from doctor.catalogue.malformed import CatalogueError
from doctor.catalogue.problem import ERROR, Problem
from doctor.catalogue.problem_files import declared
from doctor.catalogue.problem_toml import read, read_words
from doctor.catalogue.words import words_of
from doctor.cli.dev_lint import faults_of_all_words
from doctor.readers.patient.carry import carry

from .test_words import CHINESE, TOML, problem

PROBLEM = Problem(id="VLL901", name="made-up", severity=ERROR, since="0.1")
PHRASES = """
[phrase]
unseen = "a place that was not seen"

[phrase.why]
"no such key" = "there is no `{key}`[?near|, but `{near}`?]"
other = '''
it does
not fit'''
"""
PHRASES_ZH = """
[phrase]
unseen = "未知位置"

[phrase.why]
"no such key" = "没有 `{key}`[?near|,只有 `{near}`?]"
other = '''
不
符合'''
"""
MESSAGE = Message(
    Words("{who}: {why}", "[?more|{more} ?]A.", "B."), Words("{who}:{why}", "[?more|{more}?]甲。", "乙。")
)


def _declared(tmp_path: Path, english: str = PHRASES, chinese: str = PHRASES_ZH) -> Path:
    words_of.cache_clear()
    return problem(tmp_path, TOML + english, CHINESE + chinese)


def test_a_phrase_is_said_in_the_language_of_its_message(tmp_path: Path) -> None:
    _declared(tmp_path)
    (entry,) = load({"house": tmp_path})
    words = declared(entry)
    why = words.phrases("why")
    assert list(why) == ["no such key", "other"]
    finding = found(PROBLEM, MESSAGE, who="rank 3", why=why["no such key"].filled(key="a", near="b"), more="")
    assert finding.words().headline == "Rank 3: there is no `a`, but `b`"
    assert finding.words("zh").headline == "rank 3:没有 `a`,只有 `b`"
    plain = found(PROBLEM, MESSAGE, who=words.phrase("unseen"), why=words.phrase("why.other"), more="")
    assert plain.words().headline == "A place that was not seen: it does not fit"
    assert plain.words("zh").headline == "未知位置:不符合"
    with pytest.raises(KeyError):
        words.phrases("unseen")
    with pytest.raises(KeyError):
        words.phrase("why")


def test_phrases_are_joined_as_each_language_does() -> None:
    one, two = Phrase("One.", "一。"), Phrase("{number}.", "{number}。", {"number": 2})
    finding = found(PROBLEM, MESSAGE, who="x", why="y", more=joined([one, two]))
    assert finding.words().explanation == "One. 2. A."
    assert finding.words("zh").explanation == "一。2。甲。"
    assert found(PROBLEM, MESSAGE, who="x", why="y", more=joined([])).words().explanation == "A."
    assert joined(["a", "b"], ", ", "、").text("zh") == "a、b"


def test_a_message_without_chinese_takes_english_phrases() -> None:
    finding = found(PROBLEM, Message(MESSAGE.en), who="x", why=Phrase("it is so", "如此"), more="")
    assert finding.words("zh").headline == "x: it is so"


@given(st.text(alphabet="ab {}[]?|!\\", max_size=20))
def test_what_was_observed_is_never_taken_for_a_brace(value: str) -> None:
    why = Phrase("<{value}>", "《{value}》", {"value": value})
    assert (
        found(PROBLEM, MESSAGE, who=said(value, value), why=why, more="").words("zh").headline == f"{value}:《{value}》"
    )


def test_a_brace_that_nothing_fills_is_seen_when_the_finding_is_made() -> None:
    with pytest.raises(KeyError, match="key"):
        found(PROBLEM, MESSAGE, who="x", why=Phrase("no `{key}`", "没有 `{key}`"), more="")


@pytest.mark.parametrize(
    ("english", "chinese", "reason"),
    [
        ("", PHRASES_ZH, r"zh.made_up\.toml: the English file has no phrase unseen, why.no such key, why.other"),
        (PHRASES.replace('"a place that was not seen"', "5"), PHRASES_ZH, r"made_up\.toml: phrase unseen: is no text"),
    ],
)
def test_what_is_wrong_with_a_phrase_is_named(tmp_path: Path, english: str, chinese: str, reason: str) -> None:
    with pytest.raises(CatalogueError, match=reason):
        read(_declared(tmp_path, english, chinese))


@pytest.mark.parametrize(
    ("chinese", "code", "fault"),
    [
        (
            PHRASES_ZH.replace('unseen = "未知位置"', ""),
            'TOML.phrase("unseen"); TOML.phrases("why")',
            "no Chinese words",
        ),
        (PHRASES_ZH.replace("{near}", "{far}"), 'TOML.phrase("unseen"); TOML.phrases("why")', "not the same in both"),
        (PHRASES_ZH, 'TOML.phrase("unseen")', "phrase `why.other`: the Python beside does not name it"),
        (PHRASES_ZH, "unseen = why = 1", "phrase `unseen`: the Python beside does not name it"),
        (PHRASES_ZH, 'TOML.phrase("unseen"); TOML.phrase(f"why.{name}")', ""),
    ],
)
def test_lint_sees_phrases_that_no_message_can_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chinese: str, code: str, fault: str
) -> None:
    _declared(tmp_path, chinese=chinese).with_suffix(".py").write_text(code)
    monkeypatch.setattr("doctor.cli.dev_lint.catalogue_roots", lambda: {"house": tmp_path})
    (entry,) = load({"house": tmp_path})
    faults = [each for each in faults_of_all_words("house.vllm.made_up", declared(entry)) if "phrase" in each]
    assert any(fault in each for each in faults) if fault else not faults


def test_words_that_several_problems_share_need_no_problem(tmp_path: Path) -> None:
    problem(tmp_path)
    english = '[message.first]\nheadline = "a"\nexplanation = "B."\nremedy = "C."\n' + PHRASES
    chinese = '[first]\nheadline = "甲"\nexplanation = "乙。"\nremedy = "丙。"\n' + PHRASES_ZH
    shared = problem(tmp_path, english, chinese, "vllm/_shared")
    (entry,) = load({"house": tmp_path})
    assert entry.id == "VLL901"
    words_of.cache_clear()
    words = words_of("house.vllm._shared")
    assert words["first"].words("zh").headline == "甲"
    assert words.phrase("unseen").text("zh") == "未知位置"
    shared.write_text('id = "VLL902"')
    with pytest.raises(CatalogueError, match="there is no key id; allowed are message, phrase"):
        read_words(shared)


def test_a_change_of_shared_words_is_seen(tmp_path: Path) -> None:
    problem(tmp_path)
    shared = problem(tmp_path, '[phrase]\nwhy = "one"', "", "vllm/_shared")
    words_of.cache_clear()
    load({"house": tmp_path})
    assert words_of("house.vllm._shared").phrase("why").text("en") == "one"
    shared.write_text('[phrase]\nwhy = "another one"')
    load({"house": tmp_path})
    words_of.cache_clear()
    assert words_of("house.vllm._shared").phrase("why").text("en") == "another one"


def test_shared_words_are_carried_with_the_python_that_says_them(tmp_path: Path) -> None:
    module = "doctor.checks.nccl._measured"
    assert module in having_words()
    folder = carry([module], tmp_path)
    assert '"gpu": ["GPU {gpu} of {host}"' in (folder / "doctor" / "_words.json").read_text(encoding="utf-8")
