"""docs/tasks.md: its twenty tasks are done with the commands that stand there, and the answers are those promised."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager as Context
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.checkpoints.test_checkpoints import safetensors
from tests.commands import run_doctor
from tests.facts.environments import lay, script, venv
from tests.real.runs import PROGRAMS, interpreter

pytestmark = pytest.mark.process

_HERE = Path(__file__).parent
_PAGES = _HERE.parents[1] / "docs"
_RELEASES = {
    "torch": "2.13.0", "trl": "1.16.0", "transformers": "5.23.0", "accelerate": "1.15.0", "deepspeed": "0.19.8",
    "datasets": "5.2.0",
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A heading of the page, with the commands below."""

    number: int
    title: str
    commands: tuple[str, ...]


def tasks(name: str = "tasks.md") -> list[Task]:
    """All of a page, in its order."""
    found = []
    for number, title, text in re.findall(
        r"^### (\d+)\. (.+)\n((?:(?!^##).*\n?)*)", (_PAGES / name).read_text("utf-8"), re.MULTILINE
    ):
        blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        found.append(Task(int(number), title, tuple(line for block in blocks for line in block.splitlines())))
    return found


@dataclass(frozen=True)
class Answer:
    """What a command must end with and say."""

    code: int
    says: str


class Desk:
    """A home with a project and an environment that trains, as the page supposes them; commands are typed here."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        shutil.copytree(_HERE / "project", self.project)
        rows = [json.dumps({"prompt": f"{number} + {number + 1} = "}) for number in range(200)]
        (self.project / "prompts.jsonl").write_text("\n".join(rows) + "\n")
        site = venv(folder / "venvs" / "train")
        for name, version in _RELEASES.items():
            lay(site, name, version)
        self.bin = folder / "venvs" / "train" / "bin"
        script(self.bin / "accelerate", f"#!{self.bin / 'python'}\n")
        self.environ = {
            "HOME": str(folder), "PATH": f"{self.bin}:/usr/bin:/bin", "COLUMNS": "80", "LANG": "C.UTF-8",
            "XDG_STATE_HOME": str(folder / "state"),
        }  # fmt: skip

    def type(self, line: str) -> tuple[int, str]:
        """Exit code and words of a line of the page."""
        program, *words = shlex.split(line)
        assert program == "doctor", f"the page has a command that is not the doctor's: {line}"
        words = [each.replace("~", self.environ["HOME"]) for each in words]
        if "--apply" in words:
            return self._answering("y\n", words)
        done = run_doctor(*words, cwd=self.project, env=self.environ, timeout=280)
        return done.returncode, done.stdout + done.stderr

    def _answering(self, answer: str, words: list[str]) -> tuple[int, str]:
        """A command that asks, with somebody at the terminal who answers."""
        ours, theirs = pty.openpty()
        try:
            os.write(ours, answer.encode())
            done = subprocess.run(
                [sys.executable, "-m", "doctor", *words], cwd=self.project, env={**os.environ, **self.environ},
                stdin=theirs, capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
        finally:
            os.close(ours)
            os.close(theirs)
        return done.returncode, done.stdout + done.stderr


def applied(desk: Desk) -> None:
    """The correction that is to be taken back."""
    command = "accelerate launch --config_file zero2.yaml train_grpo.py"
    assert desk.type(f"doctor fix TRL2205/removed --apply -- {command}")[0] == 0
    assert "max_prompt_length" not in script_of(desk)


def flat(desk: Desk) -> None:
    """A log of TRL's in which no completion is ever rewarded."""
    rows = [
        {"loss": "0", "grad_norm": "0", "learning_rate": "1e-06", "reward": "0", "reward_std": "0",
         "frac_reward_zero_std": "1", "completions/mean_length": "24", "epoch": str(step / 30)}
        for step in range(1, 31)
    ]  # fmt: skip
    (desk.project / "flat.log").write_text("".join(f"{row}\n" for row in rows))


def ran(desk: Desk) -> None:
    """Two runs: a good one, and one that breaks."""
    assert desk.type("doctor run --no-check --no-monitor -- python train.py")[0] == 0
    assert desk.type("doctor run --no-check --no-monitor -- python train.py --broken")[0] == 1


def saved(desk: Desk) -> None:
    """Two checkpoints, of which the later one is torn."""
    for step, share in ((40, 1.0), (80, 0.5)):
        folder = desk.project / "outputs" / f"checkpoint-{step}"
        safetensors(folder / "model.safetensors", share)
        (folder / "config.json").write_text('{"model_type": "qwen2"}')
        (folder / "trainer_state.json").write_text(json.dumps({"global_step": step, "max_steps": 100}))


def real(desk: Desk) -> None:
    """An environment that can train, and a script of GRPO in it."""
    python = interpreter()
    desk.environ["PATH"] = f"{python.parent}:/usr/bin:/bin"
    for name in ("tiny.py", "save_model.py"):
        shutil.copy(PROGRAMS / name, desk.project)
    shutil.copy(_HERE / "project" / "small_grpo.py", desk.project / "train_grpo.py")
    subprocess.run([str(python), "save_model.py", "model"], cwd=desk.project, check=True, capture_output=True)


@contextmanager
def stalled(desk: Desk) -> Iterator[None]:
    """A run that makes no progress."""
    argv = [sys.executable, "-m", "doctor", "run", "--no-check", "--", "python", "stall.py"]
    with (desk.project / "run.out").open("wb") as out:
        run = subprocess.Popen(
            argv, cwd=desk.project, env={**os.environ, **desk.environ}, stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            end = time.monotonic() + 200
            while b"step 1" not in (desk.project / "run.out").read_bytes():
                assert run.poll() is None, (desk.project / "run.out").read_text()
                assert time.monotonic() < end, "the run has not begun"
                time.sleep(0.05)
            yield
        finally:
            run.terminate()
            run.wait(30)


#: task -> what has to be there before
BEFORE: dict[int, Callable[[Desk], None]] = {6: applied, 9: real, 16: flat, 17: ran, 18: ran, 19: saved}
MEANWHILE: dict[int, Callable[[Desk], Context[None]]] = {13: stalled}
#: task -> for each of its commands, how it ends and what it says
ANSWERS: dict[int, tuple[Answer, ...]] = {
    1: (Answer(0, r"\d+ checks in .*\n(.*\n)*not judged: "),),
    2: (Answer(0, r"torch 2\.13\.0 · trl 1\.16\.0"),),
    3: (Answer(1, r"TRL2205/removed .*train_grpo\.py:13:5\n.*`?max_prompt_length"),),
    4: (Answer(0, r"What to do\n"),),
    5: (Answer(0, r"-    max_prompt_length=512,"), Answer(0, r"Do this\?(.*\n)+.*TRL2205/removed")),
    6: (Answer(0, r"Undone: TRL2205/removed"),),
    7: (Answer(0, r"Fits: at most [\d.]+ of 79\.6 GiB"),),
    8: (Answer(0, r"Plan for .*0\.5B.*\n(.*\n)*.*Fits: at most"),),
    9: (Answer(0, r"The rehearsal finished, and nothing broke"),),
    10: (Answer(0, r"facts written to works\.json"), Answer(0, r"No differences")),
    11: (Answer(0, r"run folder doctor-runs/"),),
    12: (Answer(0, r"figures in doctor-runs/"), Answer(0, r"how the machine was used\n(?:.*\n)?machine ")),
    13: (Answer(0, r"stall\.py \(pid \d+\)"),),
    14: (Answer(1, r"Cause found: TRF020 token-outside-embedding"),),
    15: (Answer(0, r"Cause found: TRL3814/groups"),),
    16: (Answer(0, r"RLX008 reward-flat(.*\n)+.*`?reward`? is 0 in \d+ consecutive logged steps"),),
    17: (
        Answer(0, r"-python  failed · (.*\n)+.*-python  good"),
        Answer(0, r"UNK001 unrecognised-failure(.*\n)+.*raised KeyError"),
    ),
    18: (Answer(1, r"--broken  - → given"),),
    19: (Answer(0, r"checkpoint-40\b(.*\n)+.*checkpoint-80"),),
    20: (Answer(0, r"written to .*SKILL\.md"),),
}


def script_of(desk: Desk) -> str:
    """The script that the corrections change."""
    return (desk.project / "train_grpo.py").read_text()


#: task -> what holds afterwards
AFTER: dict[int, Callable[[Desk], bool]] = {
    5: lambda desk: "max_prompt_length" not in script_of(desk),
    6: lambda desk: script_of(desk) == (_HERE / "project" / "train_grpo.py").read_text(),
    11: lambda desk: (desk.project / "doctor-runs" / "last" / "run.json").is_file(),
    20: lambda desk: len(list(desk.project.glob(".*/skills/grpo-doctor/SKILL.md"))) == 2,
}


def test_there_are_twenty_tasks_of_at_most_two_commands() -> None:
    found = tasks()
    assert [each.number for each in found] == list(range(1, 21))
    assert [each.title for each in found if not 1 <= len(each.commands) <= 2] == []
    assert {each.number: len(each.commands) for each in found} == {each: len(ANSWERS[each]) for each in ANSWERS}


def test_both_languages_have_the_same_commands() -> None:
    assert [each.commands for each in tasks("tasks.zh.md")] == [each.commands for each in tasks()]


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_first_screen_of_the_readme_is_todays(name: str, tmp_path: Path) -> None:
    readme = (_PAGES.parent / name).read_text("utf-8")
    (shown,) = re.findall(r"^```\n\$ (doctor check .*--format concise .*)\n((?:.*\n)*?)^```", readme, re.MULTILINE)
    words = Desk(tmp_path).type(shown[0])[1]
    assert [line for line in words.splitlines() if re.match(r"\S+:\d+:\d+: ", line)] == shown[1].splitlines()


@pytest.mark.parametrize("task", tasks(), ids=lambda each: f"task-{each.number:02}")
def test_the_task_is_done_by_the_commands_of_the_page(task: Task, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    BEFORE.get(task.number, lambda _: None)(desk)
    with MEANWHILE.get(task.number, lambda _: nullcontext())(desk):
        for line, answer in zip(task.commands, ANSWERS[task.number], strict=True):
            code, words = desk.type(line)
            assert code == answer.code, f"{line}\n{words}"
            assert re.search(answer.says, words), f"{line}\n{words}"
    assert AFTER.get(task.number, lambda _: True)(desk), f"{task.title} {sorted(desk.project.iterdir())}"
