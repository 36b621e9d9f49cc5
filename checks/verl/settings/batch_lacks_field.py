"""Judges batch-lacks-field (VRL030), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: field -> what fills it, in English and Chinese
FILLED_BY = {
    "rollout_log_probs": (
        "The rollout returns it only when asked: `actor_rollout_ref.rollout.calculate_log_probs=True`.",
        "rollout 只在要求时返回它:`actor_rollout_ref.rollout.calculate_log_probs=True`。",
    ),
    "ref_log_prob": (
        (
            "The reference policy fills it, which veRL starts for `actor_rollout_ref.actor.use_kl_loss=True` or "
            "`algorithm.use_kl_in_reward=True`: set the same in all places, or turn the KL term off."
        ),
        (
            "由参考策略填写;`actor_rollout_ref.actor.use_kl_loss=True` 或 `algorithm.use_kl_in_reward=True` 时 veRL "
            "才会启动它:各处设置要一致,或关闭 KL 项。"
        ),
    ),
    "values": (
        "The critic fills it: `algorithm.adv_estimator=gae` needs one, GRPO and RLOO do not.",
        "由 critic 填写:`algorithm.adv_estimator=gae` 需要 critic,GRPO 与 RLOO 不需要。",
    ),
    "rm_scores": (
        "A reward model or the reward loop fills it: `reward_model.enable=True`, or a reward function that is named.",
        "由奖励模型或 reward loop 填写:`reward_model.enable=True`,或指定奖励函数。",
    ),
}
FALLBACK = (
    "Look which step of the trainer should fill it and whether that step is switched on.",
    "查看训练器的哪一步应填写它,以及该步是否启用。",
)


def explain(hits: Hits) -> Finding:
    """With the setting that fills the field, where one does."""
    field = hits.get("field") or ""
    filled, filled_zh = FILLED_BY.get(field, FALLBACK)
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        field=field,
        filled=filled,
        filled_zh=filled_zh,
    )
