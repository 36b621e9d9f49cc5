"""Two processes over gloo, of which rank 1 comes to grief: the answer names it and not the one that lost it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.ports import free_port

from .runs import PROGRAMS, Answer, Ran, diagnose, environment, run

pytestmark = pytest.mark.process

Launch = Callable[..., Ran]


@pytest.fixture
def accelerate(python: Path, model: Path, tmp_path: Path) -> Launch:
    """Runs a case of `programs/ranks.py` under `accelerate launch`."""

    def launch(case: str) -> Ran:
        argv = [
            str(python.parent / "accelerate"), "launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
            "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", str(free_port()),
            str(PROGRAMS / "ranks.py"), str(model), case,
        ]  # fmt: skip
        return run(argv, tmp_path, environment(python, tmp_path))

    return launch


@pytest.fixture
def torchrun(python: Path, model: Path, tmp_path: Path) -> Launch:
    """Runs a case of `programs/ranks.py` under `torchrun`, with options of the launcher."""

    def launch(case: str, *options: str) -> Ran:
        argv = [
            str(python.parent / "torchrun"), "--nproc-per-node", "2", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", f"127.0.0.1:{free_port()}", *options, str(PROGRAMS / "ranks.py"), str(model), case,
        ]  # fmt: skip
        return run(argv, tmp_path, environment(python, tmp_path))

    return launch


def chain_of(answer: Answer) -> list[int | None]:
    """Ranks in the order in which the answer tells what happened."""
    return [each.get("rank") for each in answer.report["chain"]]


class Lost(NamedTuple):
    """How rank 1 ends, the id of the answer, and the words that it must have."""

    case: str
    id: str
    words: tuple[str, ...]


@pytest.mark.parametrize(
    "expected",
    [
        Lost("raises", "UNK001", ("rank 1", "`RuntimeError`", "ranks.py")),
        Lost("killed", "LCH018", ("SIGKILL", "memory", "dmesg")),
        Lost("segfault", "UNK002", ("Rank 1", "SIGSEGV", "PYTHONFAULTHANDLER=1")),
        Lost("exits", "UNK002", ("Rank 1", "exit 3")),
    ],
    ids=lambda each: each.case,
)
def test_accelerate_launch(expected: Lost, accelerate: Launch) -> None:
    ran = accelerate(expected.case)
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["role"]) == (expected.id, "cause"), answer.words
    assert answer.first["where"]["rank"] == 1
    assert all(each in answer.words for each in expected.words), answer.words


def test_torchrun_with_prefixed_output_and_a_folder_of_logs(torchrun: Launch) -> None:
    ran = torchrun("raises", "--log-dir", "logs", "--redirects", "3", "--tee", "3")
    assert ran.code == 1, ran.text[-2000:]
    assert "[default1]:" in ran.text
    for told in (ran.log, ran.folder / "logs"):
        answer = diagnose(told)
        assert (answer.first["id"], answer.first["where"]["rank"]) == ("UNK001", 1)
        assert "`RuntimeError`" in answer.first["headline"]
        assert "ranks.py" in answer.first["headline"]
        others = [each for each in answer.report["findings"][1:] if each["role"] == "cause"]
        assert not others, "the rank that lost the other is no cause"


def test_torchrun_with_a_recorded_error(torchrun: Launch) -> None:
    ran = torchrun("recorded", "--log-dir", "logs", "--redirects", "3")
    assert ran.code == 1, ran.text[-2000:]
    assert "ranks.py" in diagnose(ran.log).first["headline"]
    answer = diagnose(ran.folder / "logs")
    assert (answer.first["id"], answer.first["where"]["rank"]) == ("UNK001", 1)
    assert "`RuntimeError`" in answer.first["headline"]


def test_a_rank_that_hangs_is_told_from_the_one_that_waited(torchrun: Launch) -> None:
    ran = torchrun("hangs")
    assert ran.code == 1, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.first["id"], answer.first["confidence"]) == ("NCC011", "likely"), answer.words
    assert answer.first["headline"].startswith("Rank 0 waited 15 s")
    assert "Rank 1 reports nothing about it" in answer.first["explanation"]
    assert chain_of(answer)[0] == 0


def test_two_healthy_ranks_stay_silent(accelerate: Launch) -> None:
    ran = accelerate("healthy")
    assert ran.code == 0, ran.text[-2000:]
    answer = diagnose(ran.log)
    assert (answer.ids, answer.code) == ([], 0)
