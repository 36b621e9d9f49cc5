"""What the user asked not to hear: it is skipped with the reason, and a slip in what is asked is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.catalogue.finding import Finding, Message, Where, Words, found
from doctor.catalogue.outcome import Outcome, Skipped
from doctor.catalogue.problem import ERROR, Problem
from doctor.catalogue.retired_ids import RETIRED
from doctor.diagnosis.suppress import (
    Ignored,
    SettingsError,
    from_options,
    from_settings,
    in_script,
    settings_of,
    suppress,
    unknown_names,
)  # fmt: skip
from doctor.facts.script import Ignore, Script


def _finding(file: str, line: int) -> Finding:
    message = Message(Words("fact", "It matters.", "Mend it."))
    return found(Problem("TRL901", "made-up", ERROR, "0.1"), message, where=Where(file=file, line=line))


@pytest.mark.parametrize(
    ("ignored", "comment", "reason"),
    [
        ([Ignored("TRL901", "known")], None, "ignored: known"),
        ([Ignored("made-up", "--ignore")], None, "ignored: --ignore"),
        ([Ignored("TRL", "area")], None, "ignored: area"),
        ([Ignored("VLL", "area")], None, None),
        ([], Ignore("TRL901", "on purpose", 7), "ignored: on purpose"),
        ([], Ignore("TRL901", "elsewhere", 8), None),
        ([], Ignore("TRL901", "", None), "ignored: comment in the script"),
        ([], Ignore("TRL902", "other", 7), None),
        ([Ignored("VLL", "area")], Ignore("TRL901", "on purpose", 7), "ignored: on purpose"),
    ],
)
def test_suppression_shows_its_reason(ignored: list[Ignored], comment: Ignore | None, reason: str | None) -> None:
    outcome = Outcome((_finding("train.py", 7),), (), (), 1, 0.0)
    script = Script("train.py", ignores=(comment,)) if comment else None
    after = suppress(outcome, ignored, script)
    assert [each.reason for each in after.skipped] == ([reason] if reason else [])
    assert len(after.findings) == (0 if reason else 1)


def test_settings_are_found_above_and_errors_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "doctor.toml").write_text('ignore = {VLL001 = "patched"}\nstrict = true\n')
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    assert settings_of(folder)[0]["strict"] is True
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.doctor]\nignored = []\n")
    with pytest.raises(SettingsError, match=r"pyproject.toml: unknown key `ignored`"):
        settings_of(folder)
    (tmp_path / "doctor.toml").write_text("ignore = [")
    (tmp_path / "a" / "pyproject.toml").unlink()
    with pytest.raises(SettingsError, match=r"doctor.toml"):
        settings_of(folder)


def test_option_forms() -> None:
    assert from_options(["VLL001,TRL", "GPU004=reset is planned"]) == [
        Ignored("VLL001", "--ignore"), Ignored("TRL", "--ignore"), Ignored("GPU004", "reset is planned"),
    ]  # fmt: skip
    with pytest.raises(SettingsError, match="neither an id"):
        from_options(["vllm!"])


def test_what_is_ignored_leaves_the_others_and_is_named_once() -> None:
    outcome = Outcome((_finding("a.py", 1), _finding("b.py", 2)), (Skipped("GPU901", "no driver"),), (), 1, 0.0)
    after = suppress(outcome, [], Script("b.py", ignores=(Ignore("TRL901", "on purpose", 2),)))
    assert after.findings == (_finding("a.py", 1),)
    assert after.skipped == (Skipped("GPU901", "no driver"), Skipped("TRL901", "ignored: on purpose", ignored=True))
    everything = suppress(outcome, (each for each in [Ignored("TRL901", "known")]), None)
    assert everything.findings == ()
    assert everything.skipped == (Skipped("GPU901", "no driver"), Skipped("TRL901", "ignored: known", ignored=True))


def test_a_comment_counts_in_the_file_of_its_script_alone() -> None:
    outcome = Outcome((_finding("other.py", 7),), (), (), 1, 0.0)
    assert suppress(outcome, [], Script("train.py", ignores=(Ignore("TRL901", "here", 7),))).skipped == ()
    assert suppress(outcome, [], Script("train.py", ignores=(Ignore("TRL901", "all", None),))).findings == ()


OLD, NEW = next((old, new) for old, new in RETIRED.items() if "/" in new)
ROW = found(Problem(NEW, "made-up", ERROR, "0.1"), Message(Words("fact", "It matters.", "Mend it.")))


@pytest.mark.parametrize("name", [OLD, NEW, NEW.partition("/")[0]])
def test_a_row_is_meant_by_its_id_its_former_one_and_that_of_its_table(name: str) -> None:
    outcome = Outcome((ROW,), (), (), 1, 0.0)
    assert suppress(outcome, [Ignored(name, "known")], None).findings == ()
    assert suppress(outcome, [], Script("a.py", ignores=(Ignore(name, "known", None),))).findings == ()


def test_settings_name_what_is_ignored_in_a_list_or_with_reasons() -> None:
    assert from_settings({"ignore": ["VLL001", "made-up"]}, "doctor.toml") == [
        Ignored("VLL001", "doctor.toml"), Ignored("made-up", "doctor.toml"),
    ]  # fmt: skip
    assert from_settings({"ignore": {"VLL001": "patched"}}, "doctor.toml") == [Ignored("VLL001", "patched")]
    assert from_settings({}, "doctor.toml") == []
    for wrong, says in (("VLL001", "must be a list"), (["vllm!"], "doctor.toml: `vllm!` is neither")):
        with pytest.raises(SettingsError, match=says):
            from_settings({"ignore": wrong}, "doctor.toml")


def test_a_slip_in_what_is_ignored_is_told() -> None:
    entries: Any = {"VLL001": SimpleNamespace(id="VLL001", name="server-gone")}
    known = [Ignored("VLL001", "", "--ignore"), Ignored("server-gone", "", "--ignore"), Ignored("VLL", "", "--ignore")]
    assert list(unknown_names(known, entries)) == []
    slips = [Ignored("server-gon", "", "doctor.toml"), Ignored("zzz-yyy", "", "--ignore"), Ignored(OLD, "", "--ignore")]
    nothing = "is not a problem of the doctor, so it ignores nothing"
    assert list(unknown_names(slips, entries)) == [
        f"doctor.toml: `server-gon` {nothing}, the nearest is `server-gone`",
        f"--ignore: `zzz-yyy` {nothing}",
        f"--ignore: `{OLD}` is now called `{NEW}`",
    ]


def test_comments_of_a_script_say_where_they_stand() -> None:
    script = Script("train.py", ignores=(Ignore("TRL901", "known", 7), Ignore("VLL001", "", None)))
    assert [(each.what, each.reason, each.source) for each in in_script(script)] == [
        ("TRL901", "known", "train.py:7"), ("VLL001", "", "train.py"),
    ]  # fmt: skip


def test_settings_are_looked_for_up_to_the_repository_and_in_tables_of_ours_alone(tmp_path: Path) -> None:
    (tmp_path / "doctor.toml").write_text("strict = true\n")
    inner = tmp_path / "repository" / "folder"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[tool.other]\nx = [\n")  # not ours to judge
    assert settings_of(inner) == ({"strict": True}, str(tmp_path / "doctor.toml"))
    (inner.parent / ".git").mkdir()
    assert settings_of(inner) == ({}, "")
    (inner / "pyproject.toml").write_text('[tool.doctor]\nlang = "zh"\n')
    assert settings_of(inner) == ({"lang": "zh"}, str(inner / "pyproject.toml"))
    (inner / "doctor.toml").write_text('lang = "en"\nguard = {}\nmonitor = {}\nignore = []\nstrict = false\n')
    assert settings_of(inner)[0]["lang"] == "en"
    (inner / "doctor.toml").unlink()
    for wrong, says in (("[tool.doctor]\nlang = [", "Invalid value"), ("tool.doctor = 3\n", "must be a table")):
        (inner / "pyproject.toml").write_text(wrong)
        with pytest.raises(SettingsError, match=rf"pyproject\.toml: .*{says}"):
            settings_of(inner)


@pytest.mark.parametrize("word", ["VLL001", "LCH6560/deepspeed", "VLL", "server-gone", "a1-b2-c3"])
def test_ids_names_and_areas_can_be_ignored(word: str) -> None:
    assert from_options([f" {word} ,"]) == [Ignored(word, "--ignore")]


@pytest.mark.parametrize("word", ["vll001", "VLL01", "VLL00001", "server", "server-", "VLL001/"])
def test_no_other_word_can(word: str) -> None:
    with pytest.raises(SettingsError, match=f"--ignore: `{word}` is neither an id"):
        from_options([word])


@pytest.mark.parametrize("name", ["LCH6560", "LCH6560/deepspeed", "made-up", "LCH", "DSP"])
def test_a_row_is_meant_by_the_letters_of_its_area_and_of_what_it_is_about(name: str) -> None:
    problem = Problem("LCH6560/deepspeed", "made-up", ERROR, "0.1", about="deepspeed")
    assert Ignored(name, "known").covers(problem)
    assert not Ignored("TRL", "known").covers(problem)
