"""What frameworks call the gap between sampler and learner and the age of samples, in one vocabulary.

Each as its own source prints or tracks it; the same fault is named in all of them, and the same healthy figure in none.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.catalogue.metric_words import by_words
from doctor.catalogue.problem import INFO
from doctor.catalogue.series import canonical
from doctor.logs.postmortem import examine
from tests.prepared import prepared_once

PREPARED = prepared_once()
Row = Callable[[int, float], str]


def moves(step: int, value: float) -> float:
    """A filler that moves as that of a run does."""
    return value * (1 + ((step * 7) % 5 - 2) / 40 + step / 100)


def verl(step: int, value: float) -> str:
    reward = moves(step, 0.4)
    return f"step:{step} - actor/grad_norm:{moves(step, 0.3):.3f} - critic/score/mean:{reward:.4f} - NAME:{value}"


def slime(step: int, value: float) -> str:
    told = {"train/loss": moves(step, 0.01), "train/grad_norm": moves(step, 0.3), "NAME": value}
    return f"(MegatronTrainRayActor pid=7) model.py:489 - step {step}: {told}"


def prime_rl(step: int, value: float) -> str:
    said = f"Step {step} |   41.2s | Loss {moves(step, 0.02):.4f} | Entropy {moves(step, 0.6):.4f} | NAME {value:.4f}"
    return f"12:00:10 SUCCESS {said} | Grad. Norm {moves(step, 0.1):.4f} | LR 1.00e-06"


def nemo_rl(step: int, value: float) -> str:
    bullets = f"  • Loss: {moves(step, 0.01):.4f}\n  • NAME: {value:.4f}\n  • Avg Reward: {moves(step, 0.4):.4f}"
    return f"========================= Step {step}/100 =========================\n📊 Training Results:\n{bullets}"


def skyrl(step: int, value: float) -> str:
    head = "2025-11-25 10:00:00.123 | INFO     | skyrl.train.utils.tracking:log:189 - Step"
    lines = (
        f" 'policy/grad_norm': '{moves(step, 0.3):.4f}',\n 'NAME': '{value}',\n"
        f" 'reward/avg_raw_reward': '{moves(step, 0.4):.4f}'}}"
    )
    return f"{head} {step}: \n{{'generate/avg_num_tokens': '512.3',\n{lines}"


def areal(step: int, value: float) -> str:
    head = "20251111-11:37:11.251 StatsLogger INFO: "
    table = f"│ ppo_actor/update/grad_norm │ {moves(step, 0.3):.4e} │ NAME │ {value:.4e} │"
    return f"{head}Epoch 1/5 Step {step}/935 Train step {step}/4675 done.\n{head}\n{table}"


def tracked(step: int, value: float) -> str:
    return json.dumps({"step": step, "loss": moves(step, 0.01), "NAME": value})


#: framework, how it prints, its name of the figure, a value that is broken, one that is well
PRINTED = [
    ("veRL", verl, "rollout_corr/kl", 0.3, 0.002), ("veRL 0.6", verl, "mismatch/mismatch_kl", 0.3, 0.002),
    ("veRL", verl, "training/rollout_probs_diff_mean", 0.2, 0.004),
    ("veRL", verl, "training/rollout_actor_probs_pearson_corr", 0.6, 0.998),
    ("slime", slime, "train/train_rollout_logprob_abs_diff", 0.3, 0.012),
    ("Miles", slime, "train/train_rollout_kl", 0.3, 0.002),
    ("prime-rl", prime_rl, "Mismatch KL", 0.23, 0.004), ("NeMo-RL", nemo_rl, "Generation KL Error", 0.3, 0.002),
    ("SkyRL", skyrl, "policy/rollout_train_logprobs_abs_diff_mean", 0.3, 0.012),
    ("AReaL", areal, "ppo_actor/update/behave_approx_kl/avg", 0.3, 0.002),
    ("AReaL", areal, "ppo_actor/update/behave_imp_weight/avg", 4.0, 1.001),
    ("open-instruct", tracked, "debug/vllm_vs_local_logprob_diff_mean", 0.3, 0.006),
]  # fmt: skip


def found(path: Path, row: Row, name: str, value: float) -> set[str]:
    lines = [row(step, moves(step, value) if value < 0.5 else value).replace("NAME", name) for step in range(1, 9)]
    path.write_text("\n".join(lines) + "\n")
    outcome = examine([str(path)], prepared=PREPARED).diagnosis.outcome
    return {each.problem.id for each in outcome.findings if each.severity is not INFO} - {"UNK003"}


@pytest.mark.parametrize(
    ("row", "name", "broken", "well"), [each[1:] for each in PRINTED], ids=[f"{each[0]}-{each[2]}" for each in PRINTED]
)
def test_the_same_gap_is_named_in_the_words_of_each(
    row: Row, name: str, broken: float, well: float, tmp_path: Path
) -> None:
    file = tmp_path / ("log.jsonl" if row is tracked else "run.log")
    assert "RLX015" in found(file, row, name, broken)
    assert found(file, row, name, well) == set()


#: names that only trackers hold
TRACKED = {
    "sampling/staleness/mean": [
        "off_policy/mean", "off_policy_level/all/mean", "async/staleness_mean", "avg_trajectory_age",
        "rollout/fully_async/avg_staleness", "ppo_actor/update/version_stats/sample_staleness_theta_avg",
        "staleness/total/mean",
    ],
    "sampling/staleness/max": [
        "off_policy/max", "async/staleness_max", "rollout/fully_async/max_staleness", "staleness/total/max",
    ],
    "reward": ["train/reward", "rollout/raw_reward", "actor/task_reward/avg", "reward/avg_raw_reward", "Reward"],
    "sampling/importance_sampling_ratio/mean": ["train/sampling_importance_ratio", "sampling_importance_ratio"],
    "rewards/margins": ["margin"],
    "sampling/model_version": ["sample/model_version/mean"],
    "rollout_corr/kl": [
        "mismatch_kl/all/mean", "gen_kl_error", "optim/kl_sample_train_v1", "ppo_actor/update/behave_approx_kl/avg",
    ],
    "sampling/probability_error": ["token_mult_prob_error", "train/token_mult_prob_error"],
    "samples/waiting": ["rollout/fully_async/queue_size", "fully_async/monitor/queue/mq_queue_size"],
}  # fmt: skip


@pytest.mark.parametrize("name", TRACKED)
def test_names_of_trackers_mean_one_thing(name: str) -> None:
    assert {canonical(each) for each in TRACKED[name]} == {name}


VERL = "python3 -m verl.trainer.main_ppo +actor_rollout_ref.rollout.quantization"

#: what a command promises or leaves uncorrected: command, row, name, value -> what is named. Twins that are well: the
#: promise is kept, nothing was promised, what is coarse is weighed
SETTINGS = [
    ("python train.py --true-on-policy-mode", slime, "train/train_rollout_logprob_abs_diff", 4e-4, {"RLX015"}),
    ("python train.py --true-on-policy-mode", slime, "train/train_rollout_logprob_abs_diff", 0.0, set()),
    ("python train.py --train-backend fsdp", slime, "train/train_rollout_logprob_abs_diff", 4e-4, set()),
    ("python train.py --fp8-format e4m3", slime, "train/train_rollout_logprob_abs_diff", 0.066, {"RLX015"}),
    ("python train.py --fp8-format e4m3", slime, "train/train_rollout_logprob_abs_diff", 0.02, set()),
    ("python train.py --bf16", slime, "train/train_rollout_logprob_abs_diff", 0.066, set()),
    (f"{VERL}=fp8", verl, "actor/ppo_kl", 1e-4, {"RLX8389"}),
    (f"{VERL}=fp8 algorithm.rollout_correction.rollout_is=token", verl, "actor/ppo_kl", 1e-4, set()),
    (f"{VERL}=null", verl, "actor/ppo_kl", 1e-4, set()),
]  # fmt: skip


@pytest.mark.parametrize(("command", "row", "name", "value", "named"), SETTINGS)
def test_figures_are_held_against_what_the_command_says(
    command: str, row: Row, name: str, value: float, named: set[str], tmp_path: Path
) -> None:
    context = tmp_path / "context.txt"
    context.write_text(command + "\n")
    (tmp_path / "run.log").write_text(
        "\n".join(row(step, moves(step, value)).replace("NAME", name) for step in range(1, 9)) + "\n"
    )
    outcome = examine([str(tmp_path / "run.log")], context=[context], prepared=PREPARED).diagnosis.outcome
    assert {each.problem.id for each in outcome.findings if each.severity is not INFO} - {"UNK003"} == named


#: what a batch is cut into, what is printed of the gradient, and whether a KL of exactly 0 tells anything then
ITSELF = [
    ("data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=64", "0.28531234", {"RLX015"}),
    ("data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=128", "0.28531234", set()),
    ("data.train_batch_size=128 actor_rollout_ref.actor.ppo_mini_batch_size=64", "0.285", set()),
]


@pytest.mark.parametrize(("sizes", "norm", "named"), ITSELF)
def test_a_policy_that_is_updated_twice_is_not_itself(sizes: str, norm: str, named: set[str], tmp_path: Path) -> None:
    context = tmp_path / "context.txt"
    context.write_text(f"python3 -m verl.trainer.main_ppo {sizes}\n")
    rows = (f"step:{step} - actor/grad_norm:{norm} - actor/ppo_kl:0.0 - critic/score/mean:0.{40 + step % 7}"
            for step in range(1, 15))  # fmt: skip
    (tmp_path / "run.log").write_text("\n".join(rows) + "\n")
    outcome = examine([str(tmp_path / "run.log")], context=[context], prepared=PREPARED).diagnosis.outcome
    assert {each.problem.id for each in outcome.findings if each.severity is not INFO} - {"UNK003"} == named


#: names that no published source prints, and what they are by their words
WORDS = {
    "train/reward_mean": "reward", "rollout/tool_call_avg": "tools/call_frequency",
    "tool_call_counts/mean": "tools/call_frequency", "env/number_of_valid_search": "tools/call_frequency",
    "policy_age": "sampling/staleness/mean", "rollout/staleness_mean": "sampling/staleness/mean",
    "ratio/mean": "policy_ratio", "logprob_error_mean": "sampling/sampling_logp_difference/mean",
    "vllm_logprob_diff_mean": "sampling/sampling_logp_difference/mean",
    # another comparison, another quantity, or no mean
    "actor/ref_logprob_diff": "actor/ref_logprob_diff", "logprob_diff": "logprob_diff", "staleness": "staleness",
    "clip_ratio/mean": "clip_ratio/mean", "tool_calls/failed": "tool_calls/failed",
    "logprob_error_max": "logprob_error_max", "eval/reward_mean": "eval/reward_mean",
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_names_that_say_what_they_are(name: str) -> None:
    assert by_words(name) == WORDS[name]
