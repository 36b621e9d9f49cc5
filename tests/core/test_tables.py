"""Tables: a problem of one idea whose rows say what differs; and the ids that they took the place of."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.base.fact import world_of
from doctor.catalogue.fix import fixable
from doctor.catalogue.index import load, load_with_faults
from doctor.catalogue.malformed import CatalogueError
from doctor.catalogue.manual import manual
from doctor.catalogue.problem import Problem, Severity
from doctor.catalogue.problem_files import declared, function_of
from doctor.catalogue.retired_ids import NAMES, RETIRED, successor
from doctor.cli.explain import named
from doctor.diagnosis.runner import run_checks
from doctor.diagnosis.suppress import from_options
from doctor.logs.postmortem import examine, prepare
from tests.core.test_runner import installed

TABLE = """
id = "VLL901"
name = "made-up"
severity = "error"
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
[form.broken]
pattern = '^MadeUpError: (?P<what>[a-z]{1,20}) broke'
symptom_of = ["GPU"]
[message.log]
headline = "`{what}` broke"
explanation = "Bad."
remedy = "Mend it."
[row.disk]
title = "A disk broke."
about = "host"
severity = "warning"
affects = { torch = ">=2" }
meaning = "of the disk"
[[row.disk.signature]]
form = "broken"
frame = 'disk\\.py:'
[[row.wire.signature]]
pattern = '^MadeUpError: the wire to (?P<host>\\w{1,20}) is cut'
confidence = "confirmed"
message = "cut"
[row.wire.message.cut]
headline = "the wire to `{host}` is cut"
explanation = "Bad."
remedy = "Mend it."
"""
CHINESE = """
[log]
headline = "`{what}` 坏了"
explanation = "不好。"
remedy = "修复。"
[row.wire.cut]
headline = "到 `{host}` 的线断了"
explanation = "不好。"
remedy = "修复。"
"""

SHARED_CHECK = """
from __future__ import annotations
from doctor.catalogue.check import check_of_rows
from doctor.catalogue.finding import found

@check_of_rows()
def stands(words: ProblemWords, packages: Packages, *, what: str = "") -> Judgement:
    yield found(words.problem, words["main"], what=what or words.problem.row)
"""
OWN_CHECK = """
from __future__ import annotations
from doctor.catalogue.check import check
from doctor.catalogue.words import words_of
from rowhouse.vllm.made_up import stands

TOML = words_of(__name__)

@check(TOML.problem)
def own(packages: Packages) -> Judgement:
    yield from stands(TOML, packages, what="here")
"""


def _made(root: Path, text: str = TABLE, chinese: str = CHINESE) -> Path:
    (root / "vllm" / "zh").mkdir(parents=True)
    (root / "vllm" / "made_up.toml").write_text(text)
    (root / "vllm" / "zh" / "made_up.toml").write_text(chinese)
    return root


def test_a_row_has_what_it_says_and_the_rest_of_its_table(tmp_path: Path) -> None:
    table, disk, wire = load({"house": _made(tmp_path)})
    assert (table.id, table.rows, table.has_signatures) == ("VLL901", ("VLL901/disk", "VLL901/wire"), False)
    assert (disk.id, disk.severity, disk.affects, disk.title) == (
        "VLL901/disk", Severity.WARNING, {"torch": ">=2"}, "A disk broke"
    )  # fmt: skip
    assert (wire.severity, wire.affects, wire.title) == (Severity.ERROR, {"vllm": "<1"}, "The wire to `…` is cut")
    (broken,) = declared(disk).signatures
    assert (broken.pattern[:12], broken.frame, broken.symptom_of) == ("^MadeUpError", r"disk\.py:", ("GPU",))
    assert [case.confidence.value for case in declared(wire).cases] == ["confirmed"]
    assert list(manual(disk).sections.values())[:2] == ["of the disk", "b"]
    assert declared(disk).problem.letters == "HST"
    assert (declared(wire).problem.letters, declared(wire).problem.family) == ("VLL", "VLL901")
    assert declared(disk)["log"].zh is not None


def test_the_code_of_a_table_is_read_again_when_it_changes(tmp_path: Path) -> None:
    root = _made(tmp_path)
    assert not load({"house": root})[1].checks
    (root / "vllm" / "made_up").mkdir()
    code = root / "vllm" / "made_up" / "__init__.py"
    code.write_text("")
    assert not load({"house": root})[1].checks
    code.write_text(SHARED_CHECK)
    assert [each.function for each in load({"house": root})[1].checks] == ["stands"]


@pytest.mark.parametrize(
    ("text", "chinese", "says"),
    [
        (TABLE.replace('form = "broken"', 'form = "other"'), CHINESE, "there is none"),
        (TABLE.replace('about = "host"', 'abuot = "host"'), CHINESE, "there is no key abuot"),
        (TABLE.replace('about = "host"', 'about = "hots"'), CHINESE, "is about 'hots', which is no area"),
        (TABLE.replace('message = "cut"', 'message = "log2"'), CHINESE, "there is no message `log2`"),
        (TABLE.replace('title = "A disk broke."', ""), CHINESE, "lacks title"),
        (TABLE, CHINESE.replace("row.wire", "row.wine"), "has no row wine"),
        (TABLE, CHINESE.replace("row.wire.cut", "row.wire.cot"), "has no message `cot`"),
    ],
)
def test_a_slip_in_a_table_is_told(
    text: str, chinese: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.catalogue.index.CATALOGUE", "house")
    with pytest.raises(CatalogueError, match=says):
        load({"house": _made(tmp_path, text, chinese)})


def test_code_of_a_row_that_the_table_lacks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.catalogue.index.CATALOGUE", "house")
    folder = _made(tmp_path) / "vllm" / "made_up"
    folder.mkdir()
    (folder / "cable.py").write_text("X = 1\n")
    with pytest.raises(CatalogueError, match="the table has no row cable"):
        load({"house": tmp_path})


def test_a_row_without_code_is_judged_by_that_of_its_table() -> None:
    rows = {each.id: each for each in load() if each.is_row}
    own = rows[RETIRED["MEM014"]]
    shared = rows[RETIRED["MEM010"]]
    assert own.has_code
    assert not shared.has_code
    assert function_of(own, "explain") is not function_of(shared, "explain")
    assert function_of(shared, "explain").__module__ == shared.module.rpartition(".")[0]


def test_rows_share_a_check_that_is_told_their_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("doctor.catalogue.index._loaded", {})
    said = '{row}.message.main]\nheadline = "`{{what}}` stands here"\nexplanation = "Bad."\nremedy = "Mend it."\n'
    text = TABLE.replace("[[row.wire.sig", '[row.wire]\ntitle = "A wire broke."\n[[row.wire.sig')
    text += "".join(f"[row.{said.format(row=row)}" for row in ("disk", "wire"))
    folder = _made(tmp_path / "rowhouse", text) / "vllm" / "made_up"
    folder.mkdir()
    (folder / "__init__.py").write_text(SHARED_CHECK)
    (folder / "wire.py").write_text(OWN_CHECK)
    entries, faults = load_with_faults({"rowhouse": tmp_path / "rowhouse"})
    assert not faults
    table, disk, wire = entries
    assert table.checks == ()
    assert [(each.function, each.table, each.facts) for each in disk.checks] == [
        ("stands", "rowhouse.vllm.made_up", {"packages": ("packages", True)})
    ]
    assert [(each.function, each.table) for each in wire.checks] == [("own", "")]
    found = run_checks(entries, world_of({"packages": installed(vllm="0.9", torch="2.9")})).findings
    assert [(each.problem.id, each.words("en").headline) for each in found] == [
        ("VLL901/wire", "`here` stands here"), ("VLL901/disk", "`disk` stands here"),
    ]  # fmt: skip


def test_each_row_that_a_log_shows_is_a_finding_of_its_own(tmp_path: Path) -> None:
    entries = load({"house": _made(tmp_path)})
    log = tmp_path / "x.log"
    log.write_text(
        "MadeUpError: the wire to there is cut\n\n"
        'Traceback (most recent call last):\n  File "/lib/site-packages/disk.py", line 3, in f\n    g()\n'
        "MadeUpError: everything broke\n"
    )
    findings = examine([str(log)], prepared=prepare(entries)).diagnosis.outcome.findings
    assert {each.problem.id for each in findings} == {"VLL901/disk", "VLL901/wire"}


# --- what was retired ------------------------------------------------------------------------------------------------

ENTRIES = load()


@pytest.mark.parametrize("names", [RETIRED, NAMES], ids=["ids", "names"])
def test_explain_follows_every_retired_id_and_name_to_its_successor(names: dict[str, str]) -> None:
    known = {each.id for each in ENTRIES}
    for name in names:
        new = successor(name)
        assert new in known, name
        assert named(ENTRIES, new).id == new


def test_no_id_is_retired_to_another_retired_one() -> None:
    assert not set(RETIRED.values()) & RETIRED.keys()
    rows = [new for new in RETIRED.values() if "/" in new]
    assert len(set(rows)) == len(rows), "two ids that said different things are one now"


def test_what_was_ignored_by_an_old_id_or_name_is_that_row_and_no_other() -> None:
    of_table: dict[str, list[Problem]] = {}
    for each in ENTRIES:
        if each.is_row:
            of_table.setdefault(each.family, []).append(declared(each).problem)
    old = {new: [id_, *(name for name, its in NAMES.items() if its == id_)] for id_, new in RETIRED.items()}
    for rows in of_table.values():
        for row in rows:
            for name in old.get(row.id, ()):
                (ignored,) = from_options([name])
                assert [each.id for each in rows if ignored.covers(each)] == [row.id]
        (whole,) = from_options([rows[0].family])
        assert all(whole.covers(each) for each in rows)


def test_letters_of_an_area_are_those_of_the_library_that_a_row_is_about() -> None:
    """`--ignore TRL` and `symptom_of = ["TRL"]` mean what they meant before a problem moved into a table."""
    for old, new in RETIRED.items():
        if "/" not in new:
            continue
        problem = declared(next(each for each in ENTRIES if each.id == new)).problem
        (ignored,) = from_options([old[:3]])
        assert ignored.covers(problem), (old, new)
        assert problem.letters == old[:3]


def test_plans_follow_their_problems() -> None:
    fixes = fixable(ENTRIES)
    for old in ("TRL002", "TRL004", "TRF001", "TRF002", "TRL006", "TRL007", "TRL009", "TRL010", "LCH005", "FLA001"):
        assert RETIRED[old] in fixes, old


def test_each_failure_of_what_was_one_catch_all_can_be_ignored_alone() -> None:
    for table in ("FSD016", "DSP040", "ACC019", "TRL060"):
        rows = [declared(each).problem for each in ENTRIES if each.family == table and each.is_row]
        assert len(rows) >= 7
        for row in rows:
            (ignored,) = from_options([row.id])
            assert [each.id for each in rows if ignored.covers(each)] == [row.id]
