"""Every reason for not judging has its Chinese, and `--lang zh` uses it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import pytest

import doctor
from doctor.base.fact import NO_COMMAND
from doctor.catalogue.reasons import localised, table, translated
from tests.e2e.environments import run_doctor

SOURCES = Path(doctor.__file__).parent
#: where reasons are given
ROOMS = ("facts", "readers", "base", "catalogue", "diagnosis", "checks")
GIVERS = {"Skip", "Unavailable", "DoesNotApply", "NvmlUnavailable", "give_up", "_give_up"}


def parsed(paths: Iterable[Path], names: Collection[str]) -> Iterator[tuple[Path, ast.Module]]:
    """The files in which something of these names is called; to parse the others would be most of the work."""
    called = re.compile(rf"\b(?:{'|'.join(names)})\s*\(")
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if called.search(text):
            yield path, ast.parse(text)


def _templates(node: ast.expr) -> Iterator[str]:
    """Sentences that an expression may give, `{}` where a value stands."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (*_templates(node.body), *_templates(node.orelse))
    elif isinstance(node, ast.BoolOp):
        yield from (each for value in node.values for each in _templates(value))


def _given() -> Iterator[tuple[str, str]]:
    """(sentence, file) of every reason that the program may give."""
    for path, tree in parsed((each for room in ROOMS for each in SOURCES.glob(f"{room}/**/*.py")), GIVERS):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in GIVERS:
                    # NVML's second argument and `_give_up`'s first are no sentences
                    wanted = node.args[1] if name == "_give_up" else node.args[0]
                    yield from ((each, path.name) for each in _templates(wanted))


def test_every_reason_has_its_chinese() -> None:
    given = list(_given())
    assert len(given) > 100
    assert sorted({f"{name}: {each}" for each, name in given if each not in table()}) == []


def test_the_chinese_keeps_every_value() -> None:
    for english, chinese in {**table(), **table("clauses")}.items():
        values = [f"<{number}>" for number in range(english.count("{}"))]
        assert all(value in chinese.format(*values) for value in values), english


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("1,204 lines in 3 files", "3 个文件共 1,204 行"),
        ("35 lines in 1 file", "1 个文件共 35 行"),
        ("8 GPUs", "8 张 GPU"),
        ("trl 1.16.0", "trl 1.16.0"),
        ("python 3.11.7 (venv)", "python 3.11.7 (venv)"),
        (
            "python 3.11.7, the doctor's own environment: pass --python to check yours",
            "python 3.11.7,doctor 自己的环境:其中没有训练所需的包,请用 --python 指定你的",
        ),
    ],
)
def test_what_was_examined_in_chinese(english: str, chinese: str) -> None:
    report = {"skipped": [], "target": {"summary": [english]}}
    assert localised(report, "zh")["target"]["summary"] == [chinese]


def test_a_sampled_run_is_reported_in_chinese(tmp_path: Path) -> None:
    query = Path(__file__).parents[1] / "monitors/samples/query.csv"
    said = run_doctor("report", "--lang", "zh", str(query), cwd=tmp_path).stdout
    assert " 张 GPU · " in said, said
    assert "is not known" not in said, said


def test_sentences_inside_findings_are_chinese(tmp_path: Path) -> None:
    (tmp_path / "z3.json").write_text("[1, 2]")
    (tmp_path / "t.py").write_text("x = 1\n")
    done = run_doctor("check", "--lang", "zh", "--", "deepspeed", "t.py", "--deepspeed", "z3.json", cwd=tmp_path)
    assert "它含有" in done.stdout, done.stdout
    assert "DeepSpeed 配置" in done.stdout


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (NO_COMMAND, "没有给出启动命令"),
        ("model `Qwen/Qwen2.5-7B` is not on this machine", "模型 `Qwen/Qwen2.5-7B` 不在本机上"),
        ("the script cannot be read, line 3: invalid syntax", "脚本无法读取,第 3 行:invalid syntax"),
        ("the script cannot be read: it does not exist", "脚本无法读取:它不存在"),
        ("`foo` is not a launcher that doctor knows", "`foo` 不是 doctor 认识的启动器"),
        ("a sentence of somebody else's", "a sentence of somebody else's"),
    ],
)
def test_reasons_in_chinese(english: str, chinese: str) -> None:
    assert translated(english, "zh") == chinese
    assert translated(english, "en") == english


def test_what_was_judged_is_told_in_chinese() -> None:
    links = "3 links measured: median 0.762 GB/s and 341 µs, slowest 0.724 GB/s"
    report = {"target": {"summary": ["3 nodes, the first: python 3.11.7", "torch 2.6.0", links]}, "skipped": []}
    assert localised(report, "zh")["target"]["summary"] == [
        "3 个节点,第一个:python 3.11.7", "torch 2.6.0", "测量了 3 条链路:中位数 0.762 GB/s、341 µs,最慢 0.724 GB/s"
    ]  # fmt: skip
