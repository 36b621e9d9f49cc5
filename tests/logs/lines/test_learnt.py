"""Heads that no list knows, before every line of a log: the same is found as without them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.logs.lines.learnt import without_head
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
TESTS = Path(__file__).parents[2]
HEADS: dict[str, Callable[[int], str]] = {
    "skypilot": lambda _: "(task, pid=4711) ",
    "skypilot-named": lambda _: "(grpo-7b.v2, pid=4711) ",
    "piped": lambda _: "trainer-0 >| ",
    "numbered": lambda number: f"#{number} ~ ",
    "syslog": lambda number: f"<14>1 job[99] seq={number}: ",
    "stamped": lambda number: f"@{1_700_000_000 + number}.{number:03d} out> ",
    "angle": lambda _: "<<node-a/gpu0>> ",
    "chinese": lambda _: "训练机 1# ",
}
LOGS = ("ddp-rank1-raises", "grpo-reward-raises", "grpo-num-generations", "vllm-engine-client", "grpo-lora-target")
HEALTHY = ("grpo-ten-steps.log", "accelerate-two-ranks.log", "verl-code-rewards.log", "vllm-serve-stopped.log")


def headed(text: str, head: Callable[[int], str]) -> str:
    return "".join(f"{head(number)}{line}\n" for number, line in enumerate(text.rstrip("\n").split("\n")))


def text_of(path: Path) -> str:
    return path.read_bytes().decode()  # a bar that is drawn anew is one line


def first_of(path: Path) -> str:
    findings = examine([str(path)], prepared=PREPARED).diagnosis.outcome.findings
    return f"{findings[0].problem.id} {findings[0].where.line}" if findings else ""


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", LOGS)
def test_what_stands_before_the_lines_changes_nothing(name: str, head: str, tmp_path: Path) -> None:
    original = TESTS / "postmortem" / name / "log.txt"
    path = tmp_path / "log.txt"
    path.write_text(headed(text_of(original), HEADS[head]))
    assert first_of(path) == first_of(original)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_log_stays_one(name: str, head: str, tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(headed(text_of(TESTS / "healthy" / name), HEADS[head]))
    found = examine([str(path)], prepared=PREPARED).diagnosis.outcome.findings
    assert [each.problem.id for each in found if each.confidence.value == "confirmed"] == []


def test_processes_are_told_apart_by_their_heads(tmp_path: Path) -> None:
    one = text_of(TESTS / "postmortem" / "grpo-reward-raises" / "log.txt").split("\n")
    lines = (f"host-{host} ~> {line}\n" for line in one for host in range(2))
    path = tmp_path / "log.txt"
    path.write_text("".join(lines))
    case = examine([str(path)], prepared=PREPARED).case
    assert {each.process for each in case.failures} == {"host-0 ~", "host-1 ~"}


@pytest.mark.parametrize(
    "text",
    [
        "plain text\n" * 50,
        "step: 1 loss: 2\n" * 50,
        "Traceback (most recent call last):\n" * 50,
        "rank 0 said: Traceback (most recent call last):\n" + "something else\n" * 50,
        "(raylet) Traceback (most recent call last):\n" * 50,
        "(Runner pid=7) Original Traceback (most recent call last):\n" + "(Runner pid=7)   File x\n" * 50,
        "Original Traceback (most recent call last):\n" + "some words\n" * 50,
        "x" * 500 + "Traceback (most recent call last):\n" * 20,
    ],
)
def test_what_is_no_head_of_most_lines_is_none(text: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(text)
    assert without_head(str(log)) is None
