"""Ends of episodes: by the environment's words alone, over formats; nothing of what the policy wrote."""

from __future__ import annotations

import random

import pytest

from doctor.oracles import (
    BROKEN,
    DOUBTFUL,
    HOLDS,
    UNSEEN,
    Episodes,
    default_reward,
    environment_words,
    episode,
    idle_episodes,
    infrastructure,
    tool_failures,
)

#: what environments say -> end, and whether the policy is innocent of it
SAID = [
    ("Error: execution timed out after 10 s", "sandbox", True),
    ("subprocess.TimeoutExpired: Command '['python', 'a.py']' timed out after 30 seconds", "sandbox", True),
    ("Sandbox crashed, please retry", "sandbox", True),
    ("docker: Error response from daemon: No such container: 5f3a", "sandbox", True),
    ("TimeoutError: ", "sandbox", True),
    ("requests.exceptions.ConnectionError: HTTPConnectionPool(host='x'): Max retries exceeded", "tool-error", True),
    ("503 Service Unavailable", "tool-error", True),
    ("Error code: 429 - too many requests", "tool-error", True),
    ("reward model request timed out", "reward-service", True),
    ("judge: 502 Bad Gateway", "reward-service", True),
    ("You have reached the maximum number of turns.", "turn-limit", False),
    ("Could not parse your answer as JSON", "parser", False),
    ("Error: no such file or directory", "tool-error", False),
    ("Traceback (most recent call last):\n  ...\nZeroDivisionError: division by zero", "tool-error", False),
    ("The temperature in Paris is 12 degrees.", "done", False),
    ("You hit the goblin. The goblin died in this environment.", "done", False),
    ("There are 429 results and 503 pages.", "done", False),
    ("The car crashed at mile 502.", "done", False),
    ("", "done", False),
]

#: how texts mark what an environment said
MARKS = [
    "call <tool_response>\n{}\n</tool_response> so",
    "look <information>{}</information> so",
    "run<|im_end|>\n<|im_start|>tool\n{}<|im_end|>\n<|im_start|>assistant\nso",
    "run\n<|start_header_id|>ipython<|end_header_id|>\n\n{}<|eot_id|>so",
    "```python\nprint(1)\n```\n```output\n{}\n```\nso",
]


@pytest.mark.parametrize(("said", "end", "outside"), SAID)
def test_the_end_is_told_by_what_the_environment_said_last(said: str, end: str, outside: bool) -> None:
    messages = [{"role": "assistant", "content": "go"}, {"role": "tool", "content": said}]
    assert episode(messages, 0.0)[:2] == (end, outside)
    assert episode([*messages, {"role": "tool", "content": "fine now"}], 1.0).end == "done", "it went on"
    for mark in MARKS:
        if said:
            assert episode(mark.format(said), 0.0)[:2] == (end, outside), mark


@pytest.mark.parametrize("said", [said for said, _, outside in SAID if outside])
def test_what_the_policy_writes_says_nothing(said: str) -> None:
    assert episode(f"I think: {said}", 1.0).end == "done"
    assert episode([{"role": "assistant", "content": said}], 1.0).end == "done"


@pytest.mark.parametrize(
    ("finish", "truncated", "end"),
    [("length", None, "length-limit"), (None, True, "length-limit"), ("sandbox timeout", None, "sandbox"),
     ("max_turns", None, "turn-limit"), ("stop", False, "done"), ("stop", None, "done")],
)  # fmt: skip
def test_the_frameworks_word_counts_first(finish: str | None, truncated: bool | None, end: str) -> None:
    assert episode("fine", 1.0, finish=finish, truncated=truncated).end == end


def lost(share: float, count: int = 200, default: float = 0.0, seed: int = 1) -> Episodes:
    """Episodes of which a share has lost its sandbox."""
    source = random.Random(seed)  # noqa: S311
    told = Episodes()
    for number in range(count):
        failed = number < round(share * count)
        said = "execution timed out" if failed else "12"
        reward = default if failed else float(source.random() < 0.4)
        told.add(episode([{"role": "assistant", "content": "go"}, {"role": "tool", "content": said}], reward))
    return told


@pytest.mark.parametrize(
    ("share", "state"), [(0.0, HOLDS), (0.01, HOLDS), (0.05, HOLDS), (0.06, DOUBTFUL), (0.2, DOUBTFUL), (0.3, BROKEN)]
)
def test_shares_of_the_infrastructure(share: float, state: object) -> None:
    verdict = infrastructure(lost(share))
    assert verdict.state is state
    assert verdict.details["graded"] == round(200 * share)


@pytest.mark.parametrize("seed", range(20))
def test_healthy_agents_are_not_accused(seed: int) -> None:
    told = lost(0.02, count=100 + 20 * seed, seed=seed)
    states = [each(told).state for each in (infrastructure, default_reward, idle_episodes, tool_failures)]
    assert set(states) <= {HOLDS, UNSEEN}


def test_failing_that_pays_and_idle_episodes_and_broken_tools() -> None:
    assert default_reward(lost(0.1, default=0.9)).state is BROKEN
    assert default_reward(lost(0.1, default=0.0)).state is HOLDS
    idle, tools = Episodes(), Episodes()
    for number in range(40):
        said = {"role": "tool", "content": "ok"}
        idle.add(episode([{"role": "assistant", "content": "" if number % 4 == 0 else "go"}, said], 1.0))
        call = {"role": "tool", "content": "Error: unknown argument" if number % 3 else "ok"}
        tools.add(episode([{"role": "assistant", "content": "go"}, call], 0.0))
    assert (idle_episodes(idle).state, idle_episodes(idle).value) == (DOUBTFUL, 0.25)
    assert tool_failures(tools).state is DOUBTFUL
    assert infrastructure(tools).state is HOLDS


def test_without_an_environment_nothing_is_claimed() -> None:
    told = Episodes()
    told.extend(episode("an answer about time-outs: connection refused", 0.0) for _ in range(50))
    assert infrastructure(told).state is UNSEEN
    assert environment_words(None) == []
