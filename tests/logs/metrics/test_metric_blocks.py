"""Metrics that a framework prints over several lines: steps, judged runs, and healthy ones of which nothing is said."""

from __future__ import annotations

import pprint
from pathlib import Path

import pytest

from doctor.base.record import record
from doctor.logs.metrics.batches import parse_rows
from doctor.logs.metrics.names import METRIC_LITERALS, parse_row
from doctor.logs.metrics.steps import MetricReader
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once


@record
class Step:
    """What a step of a run tells."""

    loss: float = 0.0123
    reward: float = 0.5
    gradient: float = 0.31
    entropy: float = 0.4


def nemo_rl(number: int, step: Step) -> str:
    """As nemo_rl/algorithms/grpo.py prints it; it tells no gradient and no entropy."""
    return f"""
========================= Step {number}/100 =========================
▶ Preparing batch...
▶ Generating responses for batch of size 1024...
▶ Processing rewards...,
▶ Training policy...
Logged data to logs/exp_001/train_data_step{number}.jsonl

📊 Training Results:
  • Loss: {step.loss:.4f}
  • Generation KL Error: 0.0010
  • Avg Reward: {step.reward:.4f}
  • Mean Generation Length: 201.2197

⏱️  Timing:
  • Total step time: 35.70s
  • policy_training: 10.97s (30.7%)
"""


def areal(number: int, step: Step) -> str:
    """As areal/utils/stats_logger.py prints it."""
    head = "\x1b[37m20251111-11:37:11.251 StatsLogger INFO: "
    return f"""{head}Epoch 1/5 Step {number}/935 Train step {number}/4675 done.\x1b[0m
{head}Stats (1/1):\x1b[0m
{head}
╒══════════════════════════════╤═════════════╤═══════════════════════════════╤═════════════╕
│ ppo_actor/update/lr          │  5.0000e-06 │ ppo_actor/update/entropy/avg  │  {step.entropy:.4e} │
├──────────────────────────────┼─────────────┼───────────────────────────────┼─────────────┤
│ ppo_actor/update/grad_norm   │  {step.gradient:.4e} │ ppo_actor/update/actor_loss/avg │  {step.loss:.4e} │
├──────────────────────────────┼─────────────┼───────────────────────────────┼─────────────┤
│ ppo_actor/task_reward/avg    │  {step.reward:.4e} │ rollout/reward                │  {step.reward:.4e} │
╘══════════════════════════════╧═════════════╧═══════════════════════════════╧═════════════╛\x1b[0m
"""


def skyrl(number: int, step: Step) -> str:
    """As skyrl/train/utils/tracking.py prints it, behind Ray's prefix."""
    told = {
        "generate/avg_num_tokens": "512.3125", "policy/final_loss": f"{step.loss:.4f}", "policy/policy_lr": "0.0000",
        "policy/policy_entropy": f"{step.entropy:.4f}", "policy/grad_norm": f"{step.gradient:.4f}",
        "reward/avg_raw_reward": f"{step.reward:.4f}", "trainer/epoch": 0, "trainer/global_step": number,
    }  # fmt: skip
    head = "\x1b[32m2025-11-25 10:00:00.123\x1b[0m | \x1b[1mINFO    \x1b[0m | skyrl.train.utils.tracking:log:189 - "
    lines = f"{head}Step {number}: \n{pprint.pformat(told)}".split("\n")
    return "".join(f"\x1b[36m(skyrl_entrypoint pid=4711)\x1b[0m {line}\n" for line in lines)


def rlinf(number: int, step: Step) -> str:
    """As rlinf/utils/metric_utils.py prints it; its reward stands under a name that an evaluation has, too."""

    def row(*cells: str) -> str:
        return "│" + "│".join(f"{each:<38}" for each in cells) + "│\n"

    return (
        f"├{'─' * 40} Metric Table {'─' * 40}┤\n│ Global Step: {number:4d}/1000 │ Progress: ░░░░ │   0.2%   │\n"
        f"├{'─' * 40} Environment {'─' * 40}┤\n{row(f'success_once={step.reward:.3f}', '', '')}"
        f"├{'─' * 40} Training/Actor {'─' * 40}┤\n"
        f"{row('actor/approx_kl=0.0010', 'actor/clip_fraction=0.0030', f'actor/entropy_loss={step.entropy:.3f}')}"
        f"{row(f'actor/grad_norm={step.gradient:.3f}', 'actor/lr=5.00e-06', f'actor/policy_loss={step.loss:.4f}')}"
        f"╰{'─' * 94}╯\n"
    )


def torchtitan(number: int, step: Step) -> str:
    """As torchtitan/components/metrics.py prints it, in its colours."""
    return (
        f"[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - \x1b[31mstep: {number:2}  \x1b[32mloss: "
        f"{step.loss:8.5f}  \x1b[38;2;180;60;0mgrad_norm: {step.gradient:7.4f}  \x1b[38;2;54;234;195mmemory:  9.46GiB"
        f"(64.99%)  \x1b[34mtps: 7,282  \x1b[36mtflops: 0.52  \x1b[35mmfu: 0.17%\x1b[39m\n"
    )


#: what each says when it is through; AReaL says the same when it is closed by an exception
ENDS = {
    "nemo_rl": "Max number of steps has been reached, stopping training early\n",
    "skyrl": "2025-11-25 11:00:00.123 | INFO     | skyrl.train.trainer:train:601 - Training done!\n",
    "torchtitan": "[rank0]:[titan] 2026-05-18 17:04:46,338 - root - INFO - Training completed\n",
}
PRINTED = {"nemo_rl": nemo_rl, "areal": areal, "skyrl": skyrl, "rlinf": rlinf, "torchtitan": torchtitan}
NAN = float("nan")


def found(path: Path, name: str, steps: list[Step], end: str = "") -> list[str]:
    """Ids of what is found in a run."""
    path.write_text("".join(PRINTED[name](number, step) for number, step in enumerate(steps, 1)) + end)
    return [each.problem.id for each in examine([str(path)], prepared=prepared_once()).diagnosis.outcome.findings]


@pytest.mark.parametrize("name", PRINTED)
def test_of_a_healthy_run_nothing_is_said(tmp_path: Path, name: str) -> None:
    steps = [Step(loss=0.01 / each, reward=0.3 + each / 100, entropy=0.6 - each / 200) for each in range(1, 41)]
    end = ENDS.get(name, "")
    assert found(tmp_path / "run.log", name, steps, end) == ([] if end else ["UNK003"])  # no end is told


@pytest.mark.parametrize("name", PRINTED)
def test_a_loss_that_is_no_number_is_found(tmp_path: Path, name: str) -> None:
    steps = [Step()] * 8 + [Step(loss=NAN, gradient=NAN)] * 3
    assert "NUM006" in found(tmp_path / "run.log", name, steps)


@pytest.mark.parametrize("name", ["nemo_rl", "areal", "skyrl"])
def test_a_reward_that_is_always_zero_is_found(tmp_path: Path, name: str) -> None:
    assert "RLX008" in found(tmp_path / "run.log", name, [Step(reward=0.0)] * 8)


@pytest.mark.parametrize("name", ["areal", "skyrl", "rlinf"])
def test_an_entropy_that_collapses_is_found(tmp_path: Path, name: str) -> None:
    steps = [Step(reward=0.3 + each / 100, entropy=0.6) for each in range(10)]
    steps += [Step(reward=0.4 + each / 100, entropy=0.011) for each in range(30)]
    assert "RLX005" in found(tmp_path / "run.log", name, steps)


@pytest.mark.parametrize("name", PRINTED)
def test_lines_of_a_block_belong_to_the_step_told_before_them(name: str) -> None:
    lines = "".join(PRINTED[name](number, Step()) for number in (4, 5, 9)).encode().split(b"\n")
    if name == "torchtitan":
        lines = [line.replace(b"\x1b[31m", b"").replace(b"\x1b[32m", b"") for line in lines]
        lines = [line.replace(b"\x1b[34m", b"") for line in lines]  # the scan cuts colours out beforehand
    told = [line for line in lines if any(literal in line for literal in METRIC_LITERALS)]
    rows = [row for row in parse_rows(told) if row is not None]
    together = MetricReader().steps(
        [row.names for row in rows], [row.step for row in rows], None, None, [False] * len(rows)
    )
    reader = MetricReader()
    alone = [point.step for line in told for point in reader.feed(line)[:1]]
    assert alone == together
    losses = [step for row, step in zip(rows, together, strict=True) if "loss" in row.names]
    assert losses == [4, 5, 9]


def test_without_the_line_that_tells_it_no_step_is_known() -> None:
    assert [point.step for point in MetricReader().feed("  • Loss: 0.0123".encode())] == [None]


@pytest.mark.parametrize(
    "line",
    [
        "validate step:  5  loss:  7.0762  memory: 66.91GiB(37.51%)  tps: 10,007",
        "Validation | Step: 12  validation/reward/_mean: 0.31",
        "====== Step 1: install the driver ======",
        "  • Loss: N/A",
        "  • Loss: see below",
        "│ DataProxy│  POST /run   ┌──────────┐",
        "│ ppo_actor/update/lr │ not logged │",
        "│actor/grad_norm=not logged │success_once=0.3 │",
        "│ Global Step: of ten │",
        " 'policy/final_loss': 'mean',",
        "StatsLogger INFO: Stats (1/1):",
        '{"critic/rewards/mean": "a name", "note": 1}',
    ],
)
def test_other_lines_of_these_words_tell_nothing(line: str) -> None:
    assert parse_row(line.encode()) is None
