"""Results of agents' episodes in JSON lines: what was asked, the reward, and how it ended; the answers lie elsewhere.

Harnesses write one row an episode, under names of their own:
https://github.com/benchflow-ai/benchflow/issues/1071 (`n_tool_calls`, `error`, `error_category`)
https://github.com/rllm-org/rllm/pull/710 (`termination_reason`)
https://github.com/NVIDIA-NeMo/Gym/pull/2410 (`failure_reason`, and `mask_sample` where no gradient is taken)
https://github.com/radixark/miles/pull/2802 (`exit_status`)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.logs.rollouts.sample import ENDS, Sample, finish_of, missing_is_nan, number, whole
from doctor.oracles.episodes import episode

_TASKS = frozenset({
    "task", "task_id", "task_name", "instance_id", "problem_id", "sample_id", "episode_id", "rollout_id", "trial_name",
    "example_id",
})  # fmt: skip
_REWARDS = ("reward", "score")
#: how often the policy acted
_ACTIONS = (
    "n_tool_calls", "num_tool_calls", "tool_call_count", "n_actions", "num_actions", "n_turns", "num_turns", "n_steps",
    "num_steps",
)  # fmt: skip


def is_row(row: Mapping[str, Any]) -> bool:
    """Whether a row has a task, a reward, and a word on the episode's end or the count of its actions."""
    keys = row.keys()
    graded = next((row[name] for name in _REWARDS if name in keys), "")
    if graded == "" or (graded is not None and number(graded) is None):
        return False
    return not _TASKS.isdisjoint(keys) and any(name in keys for name in (*ENDS, *_ACTIONS))


def sample_of(row: Mapping[str, Any], path: str, at: int) -> Sample:
    """A row as an answer without text."""
    reward = missing_is_nan(next(row[name] for name in _REWARDS if name in row))
    actions = next((count for name in _ACTIONS if (count := whole(row.get(name))) is not None), None)
    told = episode(None, None if row.get("mask_sample") is True else reward, finish=finish_of(row))
    if actions is not None:
        told = told._replace(acted=actions > 0, calls=actions)
    task = next((row[name] for name in row if name in _TASKS), None)
    return Sample(
        step=whole(row.get("step")), group=hash(str(task)), text=None, reward=reward, file=path, line=at, episode=told
    )
