"""Live series: the points that guard, post-mortem and report have in common, and the rules that judge them.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional, TypeVar

from doctor.catalogue.problem import Problem

Rule = TypeVar("Rule", bound=type)


class Point(NamedTuple):
    """One value of a metric. `t_ns` is wall time since the epoch, `step` the optimizer step; None where not told.

    `source` is a file, with ``:line`` behind it where a line can be named. A metric logged as None has the value NaN:
    TRL writes None for a mean over nothing but NaN. A tuple, for a million of them must cost no more than a second.
    """

    name: str
    value: float
    step: Optional[int] = None
    t_ns: Optional[int] = None
    rank: Optional[int] = None
    source: str = ""


def rule(
    problem: Problem, *, needs: tuple[str, ...], symptom_of: tuple[str, ...] = (), every_rank: bool = False
) -> Callable[[Rule], Rule]:
    """Declare a class with ``update(point) -> Finding | None`` a rule of `problem`.

    Args:
        problem: the entry of the catalogue that the rule recognises.
        needs: canonical metric names; the engine feeds only those. One star stands for anything: ``rewards/*``.
        symptom_of: ids of problems that, where they began no later, are the cause of this one; a class with
            `doctor_any_time = True` says so whenever they began.
        every_rank: feed the points of all ranks; else those of the first rank that told the metric.

    `update` is O(1), pure, and standard library only; it returns a finding when the trouble begins, and again only
    after the series had recovered. An optional ``finish() -> Finding | None`` is called when the series has ended.

    An optional ``calm(stretch: Stretch) -> bool`` makes a post-mortem fast: it takes a whole stretch of rows in
    (`doctor.catalogue.columns`) and says True where `update` would certainly find nothing in any of them and be left in
    the same condition; else it says False and takes nothing in, and `update` gets point after point. A bound on values
    is enough: what is not sure is not calm.

    An optional attribute ``over`` says that no further point changes anything, what `finish` says included: a rule that
    looks at the beginning only is not asked after it.

    """

    def mark(cls: Rule) -> Rule:
        cls.__doctor_rule__ = (problem, needs, symptom_of, every_rank)  # type: ignore[attr-defined]
        return cls

    return mark


#: names that other stacks give to TRL's metrics, as their published sources print them: veRL and Trinity-RFT
#: (``actor/``, ``critic/``), OpenRLHF (``policy_loss``), Megatron (``lm loss``), older TRL (``completion_length``),
#: slime and Miles (``train/``, ``rollout/``), prime-rl (capitals), NeMo-RL, SkyRL, AReaL (``actor/update/``),
#: open-instruct (``debug/``, ``val/``: https://github.com/allenai/open-instruct/blob/main/open_instruct/grpo_utils.py),
#: tinker-cookbook (``optim/``)
ALIASES: dict[str, str] = {
    "actor/pg_loss": "loss",
    "policy_loss": "loss",
    "lm loss": "loss",
    "actor/grad_norm": "grad_norm",
    "actor_grad_norm": "grad_norm",
    "grad norm": "grad_norm",
    "actor/kl_loss": "kl",
    "critic/kl": "kl",
    "objective/kl": "kl",
    "actor/ppo_kl": "policy_drift",
    "ppo_kl": "policy_drift",
    "policy/approxkl_avg": "policy_drift",
    "approx_kl": "policy_drift",
    "approxkl": "policy_drift",
    "clip_frac": "clip_ratio/region_mean",
    "clipfrac": "clip_ratio/region_mean",
    "clip_fraction": "clip_ratio/region_mean",
    "actor/entropy": "entropy",
    "actor/entropy_loss": "entropy",
    "entropy_loss": "entropy",
    "objective/entropy": "entropy",
    "actor/lr": "learning_rate",
    "actor_lr": "learning_rate",
    "learning rate": "learning_rate",
    "lr": "learning_rate",
    "actor/pg_clipfrac": "clip_ratio/region_mean",
    "ppo_clip_ratio": "clip_ratio/region_mean",
    "clip_ratio": "clip_ratio/region_mean",
    "critic/score/mean": "reward",
    "critic/rewards/mean": "reward",
    "rollout/reward_mean": "reward",
    "response_length/mean": "completions/mean_length",
    "response_length": "completions/mean_length",
    "completion_length": "completions/mean_length",
    "response_length/clip_ratio": "completions/clipped_ratio",
    "response_length/min": "completions/min_length",
    "response_length/max": "completions/max_length",
    "timing_s/step": "step_time",
    "timing/step_total": "step_time",
    "training/rollout_probs_diff_mean": "sampling/probs_difference/mean",
    "loss scale": "loss_scale",
    "train/loss": "loss",
    "train/grad_norm": "grad_norm",
    "train/kl_loss": "kl",
    "train/ppo_kl": "policy_drift",
    "train/entropy_loss": "entropy",
    "train/pg_clipfrac": "clip_ratio/region_mean",
    "train/lr-pg_0": "learning_rate",
    "train/train_rollout_logprob_abs_diff": "sampling/sampling_logp_difference/mean",
    "rollout/raw_reward": "reward",
    "rollout/response_lengths": "completions/mean_length",
    "rollout/truncated": "completions/clipped_ratio",
    "rollout/episode_raw_reward": "reward",
    "rollout/response_len/mean": "completions/mean_length",
    "rollout/truncated_ratio": "completions/clipped_ratio",
    "perf/step_time": "step_time",
    "Loss": "loss",
    "Grad. Norm": "grad_norm",
    "Entropy": "entropy",
    "LR": "learning_rate",
    "Reward": "reward",
    "Policy Loss": "loss",
    "Avg Reward": "reward",
    "Avg Total Reward": "reward",
    "Mean Generation Length": "completions/mean_length",
    "Total step time": "step_time",
    "policy/final_loss": "loss",
    "policy/grad_norm": "grad_norm",
    "policy/raw_grad_norm": "grad_norm",
    "policy/policy_entropy": "entropy",
    "policy/policy_kl": "kl",
    "reward/avg_raw_reward": "reward",
    "generate/avg_num_tokens": "completions/mean_length",
    "timing/step": "step_time",
    "actor/update/actor_loss/avg": "loss",
    "actor/update/grad_norm": "grad_norm",
    "actor/update/entropy/avg": "entropy",
    "actor/update/lr": "learning_rate",
    "actor/update/clip_ratio/avg": "clip_ratio/region_mean",
    "actor/task_reward/avg": "reward",
    "loss/mean": "loss",
    "rollout_reward/_mean": "reward",
    "trainer/grad_norm/mean": "grad_norm",
    "trainer/entropy/mean": "entropy",
    "trainer/lr": "learning_rate",
    "actor/pg_loss@sum": "loss",
    "actor_train/grad_norm": "grad_norm",
    "critic/entropy/mean": "entropy",
    "token/response_length/mean": "completions/mean_length",
    "time/step_total": "step_time",
    "critic/score/std": "reward_std",
    "rollout/zero_std/count": "groups_zero_std",
    "mismatch/rollout_is_mean": "rollout_corr/rollout_is_mean",
    "mismatch/rollout_is_eff_sample_size": "rollout_corr/rollout_is_eff_sample_size",
    "mismatch/rollout_is_std": "rollout_corr/rollout_is_std",
    "mismatch/rollout_is_veto_fraction": "rollout_corr/rollout_is_veto_fraction",
    "mismatch/mismatch_kl": "rollout_corr/kl",
    "rollout_correction/rollout_is_mean": "rollout_corr/rollout_is_mean",
    "train/reward": "reward",
    "train/sampling_importance_ratio": "sampling/importance_sampling_ratio/mean",
    "sampling_importance_ratio": "sampling/importance_sampling_ratio/mean",
    "train/token_mult_prob_error": "sampling/probability_error",
    "token_mult_prob_error": "sampling/probability_error",
    "Token Mult Prob Error": "sampling/probability_error",
    "policy/rollout_train_logprobs_abs_diff_mean": "sampling/sampling_logp_difference/mean",
    "policy/rollout_train_logprobs_abs_diff_mean:mean": "sampling/sampling_logp_difference/mean",
    "debug/vllm_vs_local_logprob_diff_mean": "sampling/sampling_logp_difference/mean",
    "objective/scores": "reward",
    "loss/policy_avg": "loss",
    "optim/grad_norm": "grad_norm",
    "policy/entropy_avg": "entropy",
    "policy/clipfrac_avg": "clip_ratio/region_mean",
    "val/sequence_lengths": "completions/mean_length",
    "val/tis_clipfrac": "sampling/truncated_share",
    "train/log_prob_mean_abs_diff": "sampling/sampling_logp_difference/mean",
    "train/model_output_mean_abs_diff": "sampling/output_difference/mean",
    "model_output_mean_abs_diff": "sampling/output_difference/mean",
    "Mismatch KL": "rollout_corr/kl",
    "mismatch_kl/all/mean": "rollout_corr/kl",
    "train/train_rollout_kl": "rollout_corr/kl",
    "train/gen_kl_error": "rollout_corr/kl",
    "gen_kl_error": "rollout_corr/kl",
    "Generation KL Error": "rollout_corr/kl",
    "optim/kl_sample_train_v1": "rollout_corr/kl",
    "actor/update/behave_approx_kl/avg": "rollout_corr/kl",
    "ppo_actor/update/behave_approx_kl/avg": "rollout_corr/kl",
    "actor/update/behave_imp_weight/avg": "rollout_corr/rollout_is_mean",
    "ppo_actor/update/behave_imp_weight/avg": "rollout_corr/rollout_is_mean",
    "batch/off_policy_level/mean": "sampling/staleness/mean",
    "off_policy_level/all/mean": "sampling/staleness/mean",
    "off_policy/mean": "sampling/staleness/mean",
    "off_policy/max": "sampling/staleness/max",
    "async/staleness_mean": "sampling/staleness/mean",
    "async/staleness_max": "sampling/staleness/max",
    "avg_trajectory_age": "sampling/staleness/mean",
    "train/avg_trajectory_age": "sampling/staleness/mean",
    "staleness/total/mean": "sampling/staleness/mean",
    "staleness/total/max": "sampling/staleness/max",
    "rollout/fully_async/avg_staleness": "sampling/staleness/mean",
    "rollout/fully_async/max_staleness": "sampling/staleness/max",
    "actor/update/version_stats/sample_staleness_theta_avg": "sampling/staleness/mean",
    "ppo_actor/update/version_stats/sample_staleness_theta_avg": "sampling/staleness/mean",
    "actor/update/version_stats/sample_staleness_theta_max": "sampling/staleness/max",
    "ppo_actor/update/version_stats/sample_staleness_theta_max": "sampling/staleness/max",
    "sample/model_version/mean": "sampling/model_version",
    "rollout/fully_async/queue_size": "samples/waiting",
    "perf/fully_async/queue_length": "samples/waiting",
    "policy/ppo_clip_ratio": "clip_ratio/region_mean",
    "optim/entropy": "entropy",
    "env/all/reward/total": "reward",
    "dpo_loss": "loss",
    "margin": "rewards/margins",
    "chosen_reward": "rewards/chosen",
    "rejected_reward": "rewards/rejected",
    "train/r3/routed_experts_fallback_token_route_fraction": "routing/not_replayed",
    "r3/routed_experts_fallback_token_route_fraction": "routing/not_replayed",
    "train/actor/policy_loss": "loss",
    "train/actor/grad_norm": "grad_norm",
    "train/actor/approx_kl": "policy_drift",
    "train/actor/clip_fraction": "clip_ratio/region_mean",
    "train/actor/entropy_loss": "entropy",
    "train/actor/lr": "learning_rate",
    "env/success_once": "reward",
    "timing_s/update_weights": "weights/update_time",
    "perf/update_weights_time": "weights/update_time",
    "timing_s/param_sync": "weights/update_time",
    "timing/sync_weights": "weights/update_time",
    "fully_async/processing_time/tp50": "episodes/time_median",
    "fully_async/processing_time/tp99": "episodes/time_p99",
    "fully_async/trainer/idle_ratio": "trainer/idle_ratio",
    "fully_async/count/dropped_stale_samples": "samples/dropped",
    "fully_async/count/total_generated_samples": "samples/generated",
    "fully_async/monitor/queue/mq_queue_size": "samples/waiting",
    "async/discard_rate": "samples/dropped_share",
    "perf/throughput": "tokens_per_s_per_gpu",
    "perf/total_num_tokens": "tokens_of_step",
}


def canonical(name: str) -> str:
    """TRL's name of a metric, or the name itself where TRL has none."""
    return ALIASES.get(name, name)


def as_number(value: Any) -> Optional[float]:
    """A metric's value as printed: number, quoted number, nan, inf; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
