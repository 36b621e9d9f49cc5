"""Metrics that a framework prints over several lines: one line tells the step, those behind it a metric or a few each.

NeMo-RL prints a headline of equality signs and, once the step is done, its results with bullets; AReaL says that a step
is done and prints a table; SkyRL names the step and prints a dict, a key a line. RLinf prints a box with three metrics
a line, of which those of the actor are read: the names under Environment and under Evaluation are the same, on lines
that do not tell which. Only lines with metrics that a rule judges are read.

Sources of the formats:
https://github.com/NVIDIA-NeMo/RL/blob/main/nemo_rl/algorithms/grpo.py (Training Results; sft.py and ppo.py likewise)
https://github.com/inclusionAI/AReaL/blob/main/areal/utils/stats_logger.py (and printing.py, trainer/ppo/actor.py)
https://github.com/NovaSky-AI/SkyRL/blob/main/skyrl/train/utils/tracking.py (class ConsoleLogger)
https://github.com/RLinf/RLinf/blob/main/rlinf/utils/metric_utils.py (print_metrics_table)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from doctor.base.patterns import later

#: in place of a step: the one that the last line told
OF_STEP_BEFORE = -1

_BULLET, _BAR = "•".encode(), "│".encode()

#: what begins each kind of line that tells a step
_NEMO_STEP, _AREAL_STEP, _SKYRL_STEP = b"= Step ", b"StatsLogger INFO: Epoch ", b"utils.tracking:log:"
_RLINF_STEP = _BAR + b" Global Step: "

_NEMO = (
    b"Loss",
    b"Policy Loss",
    b"Avg Reward",
    b"Avg Total Reward",
    b"Mean Generation Length",
    b"Total step time",
    b"Generation KL Error",
)
_SKYRL = (
    b"policy/final_loss", b"policy/policy_entropy", b"policy/policy_kl", b"policy/grad_norm", b"policy/raw_grad_norm",
    b"reward/avg_raw_reward", b"generate/avg_num_tokens", b"timing/step", b"policy/ppo_clip_ratio",
    b"policy/rollout_train_logprobs_abs_diff_mean", b"async/staleness_mean", b"async/staleness_max",
    b"async/discard_rate", b"timing/sync_weights",
)  # fmt: skip
_AREAL = (
    b"update/grad_norm",
    b"update/lr",
    b"update/entropy/avg",
    b"update/actor_loss/avg",
    b"task_reward/avg",
    b"update/clip_ratio/avg",
    b"update/behave_approx_kl/avg",
    b"update/behave_imp_weight/avg",
    b"update/version_stats/sample_staleness_theta_avg",
    b"update/version_stats/sample_staleness_theta_max",
)

_RLINF = (b"actor/approx_kl", b"actor/clip_fraction", b"actor/entropy_loss", b"actor/grad_norm", b"actor/lr",
          b"actor/policy_loss")  # fmt: skip

_STEPS = (_NEMO_STEP, _AREAL_STEP, _SKYRL_STEP, _RLINF_STEP)

#: every line of a block that is read holds one of these
BLOCK_LITERALS: tuple[bytes, ...] = (
    *_STEPS,
    *(_BULLET + b" %b: " % name for name in _NEMO),
    *(b"'%b': '" % name for name in _SKYRL),
    *(b"_actor/" + name for name in _AREAL),
    *(_BAR + name + b"=" for name in _RLINF),
)  # fmt: skip

_STEP = later(
    rb"={10} Step (\d{1,12})/\d{1,12} ={10}"
    rb"|StatsLogger INFO: Epoch [\d/]{1,20} Step [\d/]{1,20} Train step (\d{1,12})/"
    rb"|utils\.tracking:log:\d{1,6} - Step (\d{1,12}): *$"
    rb"|\xe2\x94\x82 Global Step: {1,4}(\d{1,12})/\d{1,12} "
)
_RESULT = later(rb"\xe2\x80\xa2 (%b): ([^\s]{1,30}?)s?$" % b"|".join(_NEMO))
_PRINTED = later(rb"'(%b)': '([^']{1,30})'[,}]?$" % b"|".join(_SKYRL))
_PAIR = later(rb"(%b)=(\S{1,30})" % b"|".join(_RLINF))
_CELL = later(rb"[a-z]{2,12}_actor/(%b)" % b"|".join(_AREAL))

Told = tuple[bytes, bytes]


def step_told(line: bytes) -> Optional[int]:
    """The step that the line opens a block of, None where it opens none."""
    match = _STEP.search(line) if any(each in line for each in _STEPS) else None
    return int(match[match.lastindex or 0]) if match else None


def told_in_block(line: bytes) -> list[Told]:
    """Names and values, as they stand there, of one line of a block."""
    if _BAR in line:
        return list(_cells(line))
    line = line.rstrip()
    match = _RESULT.search(line) if _BULLET in line else _PRINTED.search(line)
    return [(match[1], match[2])] if match else []


def _cells(line: bytes) -> Iterator[Told]:
    """A row of a table holds names and values in turns, behind what stands before its first bar."""
    cells = [each.strip() for each in line.split(_BAR)[1:]]
    for cell in cells:
        if match := _PAIR.fullmatch(cell):
            yield b"train/" + match[1], match[2]
    for name, value in zip(cells[::2], cells[1::2]):  # noqa: B905 - behind the last bar stands nothing
        if match := _CELL.fullmatch(name):
            yield b"actor/" + match[1], value
