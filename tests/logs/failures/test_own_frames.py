"""Frames of the doctor among those of the program: the same diagnosis with and without them."""

from __future__ import annotations

import ast
import re
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import doctor
from doctor.base import own_frames
from doctor.catalogue.standing import Standing, standing_of
from doctor.logs.postmortem import examine
from doctor.monitors.guard import stacks
from doctor.monitors.guard.rewards import Rewards
from tests.prepared import prepared_once

ROOT = Path(doctor.__file__).parent
#: what runs inside the programs that the doctor watches
FOLDERS = ("monitors/guard", "monitors/inject", "monitors/rehearse", "monitors/witness", "fixes/vllm_server")
PATHS = (
    *(each for folder in FOLDERS for each in sorted((ROOT / folder).rglob("*.py"))),
    ROOT / "monitors/capsule/hooks.py",
)
#: called when the stack is unwound already, or only to end the process: they stand in no traceback
AFTERWARDS = {"excepthook", "exit", "hook", "hook_of_threads"}
PREPARED = prepared_once()


class Wrapper(NamedTuple):
    """A function of ours around one of the program's: `calls` are the names by which it calls that."""

    file: str
    function: str
    line: int
    calls: frozenset[str]
    code: str

    @property
    def told(self) -> str:
        return f"{self.file}:{self.function}:{self.line}"


@cache
def wrappers() -> tuple[Wrapper, ...]:
    """Every inner function that calls what an outer one was handed or took from elsewhere."""
    return tuple(_wrappers())


def _wrappers() -> Iterator[Wrapper]:
    for path in PATHS:
        source = path.read_text(encoding="utf-8")
        for found in _inner(ast.parse(source), frozenset(), inside=False):
            if found[0] in AFTERWARDS and "original" not in found[1]:
                continue
            line = found[1].get("original", min(found[1].values()))
            code = source.splitlines()[line - 1].strip()
            yield Wrapper(str(path.relative_to(ROOT)), found[0], line, frozenset(found[1]), code)


def _inner(node: ast.AST, handed: frozenset[str], *, inside: bool) -> Iterator[tuple[str, dict[str, int]]]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _inner(child, handed, inside=inside)
            continue
        if inside:
            calls = {
                each.func.id: each.lineno for each in ast.walk(child)
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in handed
            }  # fmt: skip
            if calls:
                yield child.name, calls
        arguments = {each.arg for each in (*child.args.posonlyargs, *child.args.args, *child.args.kwonlyargs)}
        assigned = {
            name.id for each in ast.walk(child) if isinstance(each, (ast.Assign, ast.AnnAssign))
            for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
            for name in ast.walk(target) if isinstance(name, ast.Name)
        }  # fmt: skip
        yield from _inner(child, handed | arguments | assigned, inside=True)


#: where the doctor's code may lie: a wheel, a checkout by its link and by the link's target, what `doctor run` carries
PLACES = (
    "/opt/venv/lib/python3.11/site-packages/doctor/{}",
    "/home/me/grpo-doctor/doctor/{}",
    "/home/me/grpo-doctor/{}",
    "/tmp/doctor-runs/20260301T101500Z-python/patient/lib/doctor/{}",
    "/scratch/runs/x/patient/lib/doctor/{}",
    "C:\\work\\venv\\Lib\\site-packages\\doctor\\{}",
)


def test_wrappers_call_the_program_by_one_name_and_are_known() -> None:
    assert len(wrappers()) > 30
    assert {each.told for each in wrappers() if "original" not in each.calls} == set()
    assert {each.function for each in wrappers()} == own_frames.PASSING


SITE = "/opt/venv/lib/python3.11/site-packages"
TRL = f'  File "{SITE}/trl/trainer/grpo_trainer.py", line 1105, in _calculate_rewards\n    output = reward_func(x)\n'
MINE = '  File "/home/me/train.py", line 12, in brevity\n    return [each.split()[3] for each in completions]\n'
LAUNCHED = '  File "/home/me/train.py", line 40, in <module>\n    trainer.train()\n'
ENGINE = f'  File "{SITE}/deepspeed/runtime/engine.py", line 2001, in backward\n    self.optimizer.backward(loss)\n'
#: frames outermost first, and what is raised
RAISED = {
    "reward": ((LAUNCHED, TRL, MINE), "IndexError: list index out of range"),
    "unknown": ((LAUNCHED, ENGINE, MINE), "RuntimeError: the quux is not frobnicated"),
    "called wrongly": ((LAUNCHED, TRL), "TypeError: brevity() got an unexpected keyword argument 'answer'"),
    "in a library": ((LAUNCHED, ENGINE), "ValueError: the quux is not frobnicated"),
}


def _first(tmp_path: Path, frames: tuple[str, ...], raised: str) -> tuple[Any, ...]:
    log = tmp_path / "train.log"
    log.write_text("Traceback (most recent call last):\n" + "".join(frames) + raised + "\n")
    findings = examine([str(log)], prepared=PREPARED).diagnosis.outcome.findings
    first = findings[0]
    return first.problem.id, first.confidence, first.words("en"), first.words("zh"), len(findings)


def _frame(wrapper: Wrapper, place: str, *, code: bool) -> str:
    file = place.format(wrapper.file if "\\" not in place else wrapper.file.replace("/", "\\"))
    return f'  File "{file}", line {wrapper.line}, in {wrapper.function}\n' + (f"    {wrapper.code}\n" if code else "")


@pytest.mark.parametrize("case", RAISED)
def test_below_every_wrapper_the_first_finding_is_the_same(case: str, tmp_path: Path) -> None:
    frames, raised = RAISED[case]
    alone = _first(tmp_path, frames, raised)
    for number, wrapper in enumerate(wrappers()):
        assert "original" in wrapper.code, wrapper.told
        own = _frame(wrapper, PLACES[number % len(PLACES)], code=number % 3 > 0)
        last = len(frames) if case in {"called wrongly", "in a library"} else len(frames) - 1
        spoilt = (*frames[:1], own, *frames[1:last], own, *frames[last:])
        assert _first(tmp_path, spoilt, raised) == alone, (wrapper.told, own)


def test_what_the_doctor_itself_raises_is_not_laid_on_its_caller(tmp_path: Path) -> None:
    own = '  File "/opt/venv/lib/python3.11/site-packages/doctor/monitors/guard/loop.py", line 9, in _end_of_step\n'
    first = _first(tmp_path, (LAUNCHED, MINE, own + "    raise Oops(1)\n"), "Oops: the doctor has a bug")
    assert "_end_of_step" in str(first[2])


@pytest.mark.parametrize("path", [
    "/home/me/monitors/guard/mine.py", "/home/me/doctor/train.py", "/home/me/patient/train.py",
    "/opt/venv/lib/python3.11/site-packages/doctor/__init__.py", "/home/me/guard/rewards.py", "<string>", "",
])  # fmt: skip
def test_files_of_others_are_not_ours(path: str) -> None:
    assert not own_frames.is_own(path)


@pytest.mark.parametrize("place", PLACES)
def test_all_files_that_run_in_a_program_are_ours(place: str) -> None:
    for folder in FOLDERS:
        for each in (ROOT / folder).glob("*.py"):
            file = f"{folder}/{each.name}"
            assert own_frames.is_own(place.format(file.replace("/", "\\") if "\\" in place else file))
    assert own_frames.is_own("/runs/x/patient/hook/sitecustomize.py")


class _Trainer:
    def __init__(self, function: Any) -> None:
        self.reward_funcs = [function]
        self.reward_func_names = ["brevity"]


def test_a_real_traceback_through_a_real_wrapper(tmp_path: Path) -> None:
    """The place of the reward function is the program's, with the guard on and off."""
    script = tmp_path / "train.py"
    script.write_text("def brevity(completions):\n    return [each.split()[3] for each in completions]\n")
    names: dict[str, Any] = {}
    exec(compile(script.read_text(), str(script), "exec"), names)  # noqa: S102 - our own text
    trainer = _Trainer(names["brevity"])

    def printed() -> str:
        try:
            trainer.reward_funcs[0](["one two"])
        except IndexError:
            lines = traceback.format_exc().splitlines(keepends=True)
            del lines[1 : 1 + (3 if lines[3].strip().startswith("~") or lines[3].strip().startswith("^") else 2)]
            return TRL + "".join(lines[1:])
        raise AssertionError

    (tmp_path / "off.log").write_text("Traceback (most recent call last):\n" + printed())
    rewards = Rewards(lambda _bad: None)
    rewards.attach(trainer)
    guarded = printed()
    (tmp_path / "on.log").write_text("Traceback (most recent call last):\n" + guarded)
    assert "in watched" in guarded
    off, on = (
        examine([str(tmp_path / name)], prepared=PREPARED).diagnosis.outcome.findings[0]
        for name in ("off.log", "on.log")
    )
    assert (on.problem.id, on.words("en")) == (off.problem.id, off.words("en"))
    assert off.problem.id == "DAT053"


def test_a_rank_that_stands_still_is_at_the_programs_own_place() -> None:
    frames = (
        ("/home/me/train.py", 31, "asks_a_server"),
        (PLACES[0].format("monitors/guard/rewards.py"), 96, "watched"),
        (f"{SITE}/trl/trainer/grpo_trainer.py", 1105, "_calculate_rewards"),
    )
    for order in (frames, (frames[1], frames[0], frames[2])):  # the wrapper's own call waits in C
        standing = standing_of({
            "rank": 0, "step": 1, "host": "a", "pid": 1,
            "data": Standing(0, 1, 1, 130.0, 1.0, order).as_data(),
        })  # fmt: skip
        assert standing.at == "asks_a_server (train.py:31)"
        assert len(standing.frames) == 2
    waits = ((PLACES[0].format("monitors/guard/agree.py"), 5, "strongest"), *frames)
    data = Standing(0, 1, 1, 130.0, 1.0, waits).as_data()
    kept = standing_of({"rank": 0, "step": 1, "host": "a", "pid": 1, "data": data})
    assert kept.at.startswith("strongest"), "where the guard itself waits, nobody else is blamed"


def test_dumps_of_stacks_show_the_programs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def brevity(completions: list[str]) -> list[float]:
        seen.extend((stacks.of_process(), repr(stacks.of_main())))
        return [1.0] * len(completions)

    trainer = _Trainer(brevity)
    Rewards(lambda _bad: None).attach(trainer)
    monkeypatch.setattr(sys, "argv", ["train.py"])
    trainer.reward_funcs[0](["one"])
    for text in seen:
        assert "brevity" in text
        assert "in watched" not in text
        assert "'watched'" not in text


PY_SPY = """Process 77: python train.py
Python v3.11.7 (/opt/venv/bin/python3.11)

Thread 77 (active): "MainThread"
    read (socket.py:720)
    brevity (train.py:12)
    watched (doctor/monitors/guard/rewards.py:96)
    _calculate_rewards (trl/trainer/grpo_trainer.py:1105)
Thread 90 (idle): "doctor-stuck"
    wait (threading.py:331)
    _look_on (doctor/monitors/guard/stuck.py:140)
Thread 91 (idle): "Thread-1"
    wait (threading.py:331)
"""


def test_py_spy_shows_the_programs_own() -> None:
    text = own_frames.py_spy_without(PY_SPY)
    assert re.findall(r"^    (\w+)", text, re.MULTILINE) == ["read", "brevity", "_calculate_rewards", "wait"]
    assert re.findall(r'"(.*)"', text) == ["MainThread", "Thread-1"]
    others = PY_SPY.replace("doctor/monitors/guard/rewards.py", "mine/rewards.py").replace("doctor-stuck", "mine")
    assert own_frames.py_spy_without(others) == others
