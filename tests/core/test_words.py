"""A problem's TOML: what is refused, how its words are unwrapped, where they are found, and who reads them."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.catalogue.finding import LIKELY, Message, Words
from doctor.catalogue.index import declared_in, load
from doctor.catalogue.malformed import CatalogueError
from doctor.catalogue.manual import manual
from doctor.catalogue.manual_zh import manual_zh
from doctor.catalogue.problem_files import code_of, declared
from doctor.catalogue.problem_toml import follows_at_once, read, unwrapped
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of
from doctor.logs.match.problems import finding_of
from doctor.readers.patient.carry import carry
from tests.facts.environments import interpreter

TOML = """
id = "VLL901"
name = "made-up"
severity = "warning"
since = "0.1"
affects = { vllm = "<1" }
confidence = "likely"

[manual]
title = "It is made up."
meaning = "a"
effect = "b"
remedy = "c"
detection = "d"
references = ["https://example.org/a"]

[[signature]]
pattern = 'first failure: (?P<what>\\w{1,9})'
message = "first"

[[signature]]
pattern = 'second failure'
symptom_of = ["*"]
message = "second"
confidence = "confirmed"

[message.first]
headline = "`{what}` failed"
explanation = '''
One line
and another.'''
remedy = "Mend it."

[message.second]
headline = "it failed"
explanation = "Bad."
remedy = "Mend it."
"""
CHINESE = """
[first]
headline = "`{what}` 失败"
explanation = '''
第一行,
第二行。'''
remedy = "修复它。"
"""


def problem(root: Path, text: str = TOML, chinese: str = CHINESE, name: str = "vllm/made_up") -> Path:
    path = (root / name).with_suffix(".toml")
    (path.parent / "zh").mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (path.parent / "zh" / path.name).write_text(chinese)
    return path


def hits(signature: int = 0, **groups: str) -> Hits:
    return Hits((Hit(groups, "text", "a.log", 3, signature=signature),), 1)


def test_a_problem_needs_no_python(tmp_path: Path) -> None:
    problem(tmp_path)
    (entry,) = load({"house": tmp_path})
    assert (entry.id, entry.module, entry.area, entry.title) == (
        "VLL901",
        "house.vllm.made_up",
        "vllm",
        "It is made up",
    )
    assert (entry.has_code, entry.has_signatures, entry.checks) == (False, True, ())
    assert code_of(entry) is None
    words = declared(entry)
    assert words.problem.affects == {"vllm": "<1"}
    assert [each.symptom_of for each in words.signatures] == [(), ("*",)]
    first = finding_of(entry, hits(what="disk"), words.signatures[0])
    assert first is not None
    assert first.words().headline == "`disk` failed"
    assert first.words().explanation == "One line and another."
    assert first.words("zh").explanation == "第一行,第二行。"
    assert (first.confidence, first.severity) == (LIKELY, words.problem.severity)
    second = finding_of(entry, hits(1), words.signatures[1])
    assert second is not None
    assert (second.confidence.value, second.words().headline) == ("confirmed", "it failed")


def test_its_manual_is_read_in_both_languages(tmp_path: Path) -> None:
    problem(tmp_path)
    (entry,) = load({"house": tmp_path})
    assert list(manual(entry).sections.values()) == ["a", "b", "c", "d", "https://example.org/a"]
    chinese = manual_zh(entry)
    assert chinese is not None
    assert chinese.sections["影响"] == "第一行,第二行。"
    assert list(chinese.sections)[-1] == "参考"


def test_folders_by_topic_are_found_at_any_depth(tmp_path: Path) -> None:
    problem(tmp_path)
    problem(tmp_path, TOML.replace("901", "4902").replace("made-up", "deeper"), name="vllm/serving/ports/deeper")
    problem(tmp_path, TOML.replace("901", "903"), name="vllm/_drafts/left_out")
    found = {entry.id: (entry.module, entry.area) for entry in load({"house": tmp_path})}
    assert found == {
        "VLL901": ("house.vllm.made_up", "vllm"), "VLL4902": ("house.vllm.serving.ports.deeper", "vllm")
    }  # fmt: skip


def test_a_change_of_either_language_is_seen(tmp_path: Path) -> None:
    path = problem(tmp_path)
    load({"house": tmp_path})
    path.write_text(TOML.replace("it failed", "it broke"))
    load({"house": tmp_path})
    assert declared_in("house.vllm.made_up")["messages"]["second"]["en"][0] == "it broke"
    (path.parent / "zh" / path.name).write_text(CHINESE.replace("修复它。", "改正它。"))
    load({"house": tmp_path})
    assert declared_in("house.vllm.made_up")["messages"]["first"]["zh"][2] == "改正它。"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('since = "0.1"', ""), "lacks since"),
        (('since = "0.1"', 'since = "0.1"\nsevrity = "x"'), "there is no key sevrity; allowed are"),
        (("pattern = 'second failure'", ""), "signature 1: lacks pattern"),
        (('message = "second"', 'message = "secnd"'), "signature 1: there is no message `secnd`"),
        (('effect = "b"', ""), "manual: lacks effect"),
        (('remedy = "Mend it."\n\n[message.second]', "[message.second]"), "message first: lacks remedy"),
        (('explanation = "Bad."', "explanation = 5"), "message second: headline, explanation, remedy are texts"),
        (('id = "VLL901"', 'id = "VLL901'), "line 2"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(tmp_path: Path, change: tuple[str, str], reason: str) -> None:
    assert change[0] in TOML
    path = problem(tmp_path, TOML.replace(*change))
    with pytest.raises(CatalogueError) as raised:
        read(path)
    assert str(path) in str(raised.value)
    assert reason in str(raised.value)


def test_chinese_words_of_no_message_are_refused(tmp_path: Path) -> None:
    path = problem(tmp_path, chinese=CHINESE.replace("[first]", "[frist]"))
    with pytest.raises(CatalogueError, match=r"zh.made_up\.toml: the English file has no message `frist`"):
        read(path)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("\none\ntwo\n", "one two"),
        ("  one  \n   two", "one two"),
        ("显存\n不足", "显存不足"),
        ("用 FSDP\n时", "用 FSDP 时"),
        ("设置\n`a=1`", "设置 `a=1`"),
        ("`a=1`,\n重启", "`a=1`,重启"),
        ("内存\n(主机)", "内存(主机)"),
        ("结束。\n重启", "结束。重启"),
        ("", ""),
    ],
)
def test_line_breaks_are_blanks_but_beside_wide_characters(text: str, whole: str) -> None:
    assert unwrapped(text) == whole


_WORD = st.text(st.sampled_from("ab`{}.'\"\\显存。,"), min_size=1, max_size=6)


@given(st.lists(_WORD, min_size=1, max_size=8), st.data())
def test_wrapping_anywhere_changes_no_words(words: list[str], data: st.DataObject) -> None:
    whole, wrapped = words[0], words[0]
    for word in words[1:]:
        between = "" if follows_at_once(whole[-1], word[0]) else " "
        whole += between + word
        wrapped += (data.draw(st.sampled_from(["\n", "\n  ", between]))) + word
    assert unwrapped(wrapped) == whole


@pytest.mark.process
def test_what_is_carried_needs_no_reader_of_toml(tmp_path: Path) -> None:
    """Python 3.9 has none, and the carried folder holds neither the TOML nor the index."""
    entry = next(each for each in load() if each.has_rule and each.words is not None)
    folder = carry(["doctor.catalogue.rules", entry.module], tmp_path)
    assert not list(folder.rglob("*.toml"))
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r})\n"
        f"import importlib; module = importlib.import_module({entry.module!r})\n"
        "said = [each.words('zh').headline for each in module.TOML.messages.values()]\n"
        "print(module.PROBLEM.id, *said, sep='|')\n"
        "assert 'tomllib' not in sys.modules and 'doctor.catalogue.index' not in sys.modules\n"
    )
    for python in (sys.executable, interpreter("3.9")):
        done = subprocess.run(
            [python, "-I", "-S", "-B", "-X", "utf8", "-c", code], capture_output=True, text=True, check=False,
            timeout=60, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said = [message.words("zh").headline for message in declared(entry).messages.values()]
        assert done.stdout.strip().split("|") == [entry.id, *said]


def test_messages_are_made_when_their_words_are_asked_for(tmp_path: Path) -> None:
    problem(tmp_path)
    load({"house": tmp_path})
    made: list[int] = []

    def make() -> Message:
        made.append(1)
        return Message(Words("it failed", "Bad.", "Mend it."))

    later = Message.later(make)
    assert not made
    assert later.zh is None
    assert later == Message(Words("it failed", "Bad.", "Mend it."))
    first = words_of("house.vllm.made_up")["first"]
    assert copy.deepcopy(first) == first
    assert len(made) == 1
    with pytest.raises(AttributeError):
        _ = later.other  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        words_of("house.vllm.made_up")["none"]
