"""A failure that a program caught and tried again after is not what ended it, where it says so itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import examine, prepare

PREPARED = prepare()
CAUGHT = [
    "Traceback (most recent call last):",
    '  File "/home/me/grpo/reward_client.py", line 31, in score',
    '    return self.session.post(self.url, json=batch).json()["rewards"]',
    "KeyError: 'rewards'",
]
ENDED = [
    "Traceback (most recent call last):",
    '  File "/home/me/grpo/train.py", line 90, in <module>',
    "    main()",
    '  File "/home/me/grpo/train.py", line 80, in main',
    "    model = load(path)",
    "ZeroDivisionError: division by zero",
]
LATER = ["the reward server answers", *(f"preparing shard {shard}" for shard in range(40))]


def cause(folder: Path, *parts: list[str]) -> str:
    path = folder / "train.log"
    path.write_text("\n".join(line for part in parts for line in part) + "\n")
    found = examine([str(path)], prepared=PREPARED).ranked.findings[0]
    assert found.problem.id == "UNK001"
    return str(found.values["type"])


def told(times: int, words: str) -> list[str]:
    return [line for time in range(times) for line in [*CAUGHT, words.format(time)]]


@pytest.mark.parametrize("words", ["Retrying ({}) ...", "attempt {} failed, waiting", "第 {} 次重试"])
def test_what_ended_the_process_is_the_cause(words: str, tmp_path: Path) -> None:
    assert cause(tmp_path, ["loading"], told(5, words), LATER, ENDED) == "ZeroDivisionError"
    said_before = [line for time in range(5) for line in [words.format(time), *CAUGHT]]
    assert cause(tmp_path, ["loading"], said_before, LATER, ENDED) == "ZeroDivisionError"


def test_without_a_word_of_it_the_first_is(tmp_path: Path) -> None:
    """Eight workers that fail alike say the same, and their parent fails of it."""
    assert cause(tmp_path, ["loading"], told(8, "worker {} is down"), LATER, ENDED) == "KeyError"
    assert cause(tmp_path, ["loading"], told(2, "Retrying ({}) ..."), LATER, ENDED) == "KeyError"


def test_a_loop_that_never_ends_is_told(tmp_path: Path) -> None:
    assert cause(tmp_path, ["loading"], told(30, "Retrying ({}) ...")) == "KeyError"


def test_what_gives_up_in_the_end_is_the_cause(tmp_path: Path) -> None:
    during = ["", "During handling of the above exception, another exception occurred:", ""]
    given_up = [*CAUGHT, *during, *ENDED[:-1], "RuntimeError: the reward server failed 5 times"]
    assert cause(tmp_path, ["loading"], told(5, "Retrying ({}) ..."), given_up) == "KeyError"
