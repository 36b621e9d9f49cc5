"""Plans as data: what a step makes of a file, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.catalogue.plan import Edit, EditFile, Plan, Refused, Run, Safety, SetEnv, diff, edit, rewrite


def test_edits_change_only_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "zero3.json"
    path.write_bytes('{\n  "größe": 8,\r\n  "b": 2\n}'.encode())
    before = path.read_bytes()
    at = before.index(b"8")
    step = edit(str(path), Edit(at, at + 1, '"auto"'))
    assert step.content(before) == before.replace(b"8", b'"auto"')


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    step = rewrite(str(path), "a: 2\n")
    with pytest.raises(Refused, match="has changed since"):
        step.content(b"a: 3\n")


@pytest.mark.parametrize("edits", [(Edit(2, 4, ""), Edit(3, 5, "")), (Edit(0, 99, ""),), (Edit(3, 2, ""),)])
def test_edits_that_overlap_or_leave_the_file_are_our_bug(edits: tuple[Edit, ...], tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("abcdef")
    with pytest.raises(ValueError, match="overlap or leave"):
        EditFile(str(path), rewrite(str(path), "").sha256_before, edits).content(b"abcdef")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, "NCCL_DEBUG=WARN\n"),
        ("A=1", "A=1\nNCCL_DEBUG=WARN\n"),
        ("# NCCL_DEBUG=INFO\n", "# NCCL_DEBUG=INFO\nNCCL_DEBUG=WARN\n"),
        ("export NCCL_DEBUG=INFO\nB=2\n", "export NCCL_DEBUG=WARN\nB=2\n"),
        ("NCCL_DEBUG=INFO\nNCCL_DEBUG=TRACE\n", "NCCL_DEBUG=INFO\nNCCL_DEBUG=WARN\n"),
        ("MY_NCCL_DEBUG=INFO\n", "MY_NCCL_DEBUG=INFO\nNCCL_DEBUG=WARN\n"),
    ],
)
def test_a_variable_is_set_where_it_stood(before: str | None, after: str) -> None:
    step = SetEnv(".env", "NCCL_DEBUG", "WARN")
    assert step.content(None if before is None else before.encode()) == after.encode()


def test_values_are_quoted_and_backslashes_stay() -> None:
    assert SetEnv(".env", "A", r"x \1 $HOME").content(b"A=1\n") == b"A='x \\1 $HOME'\n"


@pytest.mark.parametrize(("name", "value"), [("A B", "1"), ("1A", "1"), ("A", "1\nB=2"), ("A", "\0")])
def test_what_no_dotenv_file_can_hold_is_our_bug(name: str, value: str) -> None:
    with pytest.raises(ValueError, match="cannot be set"):
        SetEnv(".env", name, value)


def test_the_diff_shows_every_change_of_a_file_once(tmp_path: Path) -> None:
    path, env = tmp_path / "a.yaml", tmp_path / ".env"
    path.write_text("a: 1\nb: 2\n")
    plan = Plan(
        "ACC001",
        Safety.SAFE,
        (rewrite(str(path), "a: 1\nb: 3\n"), SetEnv(str(env), "A", "1"), SetEnv(str(env), "B", "2")),
    )
    shown = list(diff(plan))
    assert [each for each in shown if each[0] in "+-" and each[:3] not in {"+++", "---"}] == [
        "-b: 2",
        "+b: 3",
        "+A=1",
        "+B=2",
    ]
    assert "--- /dev/null" in shown


def test_a_plan_edits_a_file_once(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "b"
    path.write_text("x")
    link.symlink_to(path)
    with pytest.raises(ValueError, match="each file once"):
        Plan("ACC001", Safety.SAFE, (rewrite(str(path), "y"), rewrite(str(link), "z")))


def test_a_command_that_nothing_takes_back_makes_a_plan_irreversible() -> None:
    assert Plan("PYT001", Safety.UNSAFE, (Run(("true",), ("true",)),)).reversible
    assert not Plan("PYT001", Safety.UNSAFE, (Run(("true",)),)).reversible
