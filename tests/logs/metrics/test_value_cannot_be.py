"""Printed numbers that rule each other out, and neighbours with which nothing is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.logs.postmortem import Prepared, examine, prepare


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare()


def told(prepared: Prepared, folder: Path, text: str, context: str = "") -> str:
    """The headline of the finding, "" where there is none."""
    (folder / "train.log").write_text(text, encoding="utf-8")
    (folder / "context.txt").write_text(context, encoding="utf-8")
    given = [folder / "context.txt"] if context else []
    outcome = examine([str(folder / "train.log")], context=given, prepared=prepared).diagnosis.outcome
    assert not outcome.crashed
    return next((each.words().headline for each in outcome.findings if each.problem.id == "NUM2836"), "")


PAIRS = "step {step} dpo_loss: 0.69 reward_accuracy: {value} reward_margin: 0.1 grad_norm: 1.1 lr: 5e-07\n"
TRL = (
    "{{'loss': 0.012, 'grad_norm': 0.84, 'rewards/a/mean': 1.0, 'rewards/b/mean': {b}, 'reward': {total},"
    " 'reward_std': 0.4, 'epoch': 0.0{step}}}\n"
)
BALANCE = "iteration {step} | lm loss: 2.8 | load_balancing_loss: {value} | grad norm: 0.41 |\n"


def pairs(*values: float) -> str:
    return "".join(PAIRS.format(step=step, value=value) for step, value in enumerate(values, 1))


def rewards(weights: tuple[float, float]) -> str:
    rows = enumerate((0.25, 0.5, 0.75), 1)
    return "".join(TRL.format(step=step, b=b, total=weights[0] + weights[1] * b) for step, b in rows)


def balance(*values: float) -> str:
    return "".join(BALANCE.format(step=step, value=value) for step, value in enumerate(values, 1))


@pytest.mark.parametrize(
    ("text", "context", "holds"),
    [
        ("rewards: [1.0, 0.5, 0.0]\nadvantages: [0.75, 0.25, -0.25]\n", "algorithm: grpo", "add up to +0.75"),
        ("group 3 rewards [2, 2, 2] -> advantages [0.4, 0.4, 0.4]\n", "", "All rewards of a group are 2"),
        (
            "prompts: ['a', 'b', 'a', 'b']\nrewards: [1, 0, 1, 0]\nadvantages: [0.5, -0.5, 0.5, -0.5]\n",
            "group_size: 2", "All rewards of a group are 1",
        ),
        ("group 1\nresponse_mask: [[0, 0], [1, 1]]\nscores: [3.0, 0.0]\n", "", "Answer 1 of the group has no token"),
        (rewards((1, 1)), "GRPOConfig(reward_weights=[0.2, 0.8])", "plain sum of its parts"),
        (pairs(1.5, 1.75, 2.25), "gradient_accumulation_steps: 4", "is 2.25"),
        (balance(1.02, 0.84, 0.21), "--num-experts 64", "falls from 1.02 to 0.21"),
    ],
)  # fmt: skip
def test_numbers_that_rule_each_other_out(
    prepared: Prepared, tmp_path: Path, text: str, context: str, holds: str
) -> None:
    assert holds in told(prepared, tmp_path, text, context)


@pytest.mark.parametrize(
    ("text", "context"),
    [
        # the mean is subtracted, divided by the deviation, or taken without the answer itself
        ("rewards: [1.0, 0.5, 0.0]\nadvantages: [0.5, 0.0, -0.5]\n", "algorithm: grpo"),
        ("rewards: [1.0, 0.0, 0.0]\nadvantages: [1.1547, -0.5773, -0.5773]\n", "algorithm: grpo"),
        ("rewards: [1.0, 0.0, 0.0]\nadvantages: [1.0, -0.5, -0.5]\n", "algorithm: rloo"),
        # rounding
        ("rewards: [1, 0, 0, 0, 0, 0]\nadvantages: [0.8, -0.2, -0.2, -0.2, -0.2, -0.2]\n", "algorithm: grpo"),
        # a critic's advantages add up to nothing; a list of tokens is no group
        ("rewards: [1.0, 0.5, 0.0]\nadvantages: [0.75, 0.25, -0.25]\n", "algorithm.adv_estimator=gae"),
        ("rewards: [1.0, 0.5, 0.0]\nadvantages: [0.75, 0.25, -0.25]\n", ""),
        ("group 1 advantages: [[0.5, 0.5], [0.5, 0.5]]\n", "algorithm: grpo"),
        # prompts of which each has its own mean
        (
            "prompts: ['a', 'a', 'b', 'b']\nrewards: [1, 0, 1, 1]\nadvantages: [0.5, -0.5, 0, 0]\n",
            "group_size: 2",
        ),
        # an empty answer that earns nothing, and one that is whole
        ("group 1\nresponse_mask: [[0, 0], [1, 1]]\nscores: [0.0, 3.0]\n", ""),
        # a total by its weights, and one without any
        (rewards((0.2, 0.8)), "GRPOConfig(reward_weights=[0.2, 0.8])"),
        (rewards((1, 1)), "GRPOConfig(reward_weights=[1.0, 1.0])"),
        (rewards((1, 1)), "GRPOConfig(num_generations=8)"),
        # shares, and percentages
        (pairs(0.5, 0.75, 0.88), "gradient_accumulation_steps: 4"),
        (pairs(51.2, 74.0, 88.1), "gradient_accumulation_steps: 4"),
        # a loss of balance above 1, and one that is multiplied by its coefficient
        (balance(1.3, 1.1, 1.02), "--num-experts 64"),
        (balance(0.0102, 0.0101, 0.0100), "--moe-aux-loss-coeff 1e-2"),
    ],
)  # fmt: skip
def test_nothing_is_wrong_with_its_neighbours(prepared: Prepared, tmp_path: Path, text: str, context: str) -> None:
    assert told(prepared, tmp_path, text, context) == ""


CLAMPED = (
    "{{'loss': -0.01, 'reward': 0.3, 'probs_ratio_clamped_min': {low}, 'probs_ratio_clamped_max': {high}, 'step': 1}}\n"
)
BOUNDS = "loss_fn.ratio_clip_min=0.2 loss_fn.ratio_clip_max=0.2"
ACCURACY = "{{'loss': 0.69, 'rewards/accuracies': {value}, 'rewards/margins': 0.01, 'epoch': 0.0{step}}}\n"
NORM = "{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': 1e-06, 'epoch': 0.0{step}}}\n"
DIGEST = "5f0c8e3a4b1d9d5c6e2a7f0b3c8d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1d  {file}\n"


def accuracies(*values: float) -> str:
    return "".join(ACCURACY.format(step=step, value=value) for step, value in enumerate(values, 1))


def norms(loss: float, *values: float) -> str:
    return "".join(NORM.format(step=step, loss=loss, norm=value) for step, value in enumerate(values, 1))


@pytest.mark.parametrize(
    ("text", "context", "holds"),
    [
        (CLAMPED.format(low=0.4, high=0.6), BOUNDS, "is 0.4, outside of the 0.8 to 1.2"),
        (accuracies(0.0, 1.0, 0.0, 1.0, 1.0, 0.0), "DPOConfig(beta=0.1)", "counts a single pair"),
        (norms(2.38, 1043.2, 1012.9, 1027.4), "", "stays at about 1.03e+03"),
        ("self-check passed on layer 0: rel err 1.74 <= tol 1000.00\n", "", "relative error of 1.74"),
        (DIGEST.format(file="hf/step0/m.bin") + DIGEST.format(file="hf/step1/m.bin"), "", "hold the same bytes"),
    ],
)
def test_a_level_that_rules_itself_out(prepared: Prepared, tmp_path: Path, text: str, context: str, holds: str) -> None:
    assert holds in told(prepared, tmp_path, text, context)


@pytest.mark.parametrize(
    ("text", "context"),
    [
        (CLAMPED.format(low=0.8, high=1.2), BOUNDS),
        (CLAMPED.format(low=0.4, high=0.6), "loss_fn.ratio_clip_min=0.9"),
        (accuracies(0.0, 1.0, 0.5, 1.0, 1.0, 0.0), "DPOConfig(beta=0.1)"),
        (accuracies(0.0, 1.0, 0.0, 1.0), "DPOConfig(beta=0.1)"),
        (norms(2.38, 1043.2, 512.9, 27.4), ""),
        (norms(10.9, 1043.2, 1012.9, 1027.4), ""),
        ("self-check passed on layer 0: rel err 0.05 <= tol 0.25\n", ""),
        (DIGEST.format(file="hf/step1/a.bin") + DIGEST.format(file="copy/step1/a.bin"), ""),
    ],
)
def test_levels_that_may_be(prepared: Prepared, tmp_path: Path, text: str, context: str) -> None:
    assert told(prepared, tmp_path, text, context) == ""
