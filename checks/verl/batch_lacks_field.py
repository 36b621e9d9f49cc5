"""A worker of veRL wants a field of the batch that nobody filled.

## What it means
A batch goes from rollout over log-probabilities, reference and reward to the update. Each step adds fields; a step
that is switched off, replaced by code of one's own, or of another release leaves one out.
## What it does to a run
The first step that reads the field ends with a KeyError.
## What to do
Switch on the step that fills it, or the setting that asks for it off.
## How it is found
In a log: by the KeyError of tensordict.
## References
https://github.com/GAIR-NLP/ToRL/issues/8
https://github.com/verl-project/verl/blob/main/verl/trainer/ppo/ray_trainer.py
https://github.com/pytorch/tensordict
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL030", name="batch-lacks-field", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"KeyError: [\"'](?:Entry not found: )?key \\?[\"'](?P<field>[\w.]{1,80})\\?[\"'] not found in TensorDict"
    ),
)

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

LOG_MESSAGE = Message(
    en=Words(
        "the batch has no field `{field}`, which this step reads",
        "Rollout, log-probabilities, reference, critic and reward add fields to the batch one after the other. The "
        "step that fills `{field}` was left out by the settings, replaced by a rollout, agent loop or trainer of "
        "your own that does not fill it, or belongs to another release: forks of veRL choose their rollout code by "
        "the version of vLLM and fall back to one without their extra fields.",
        "{filled} With a fork (Search-R1, ToRL, verl-agent ...) install the vLLM that it names, so that its own "
        "rollout code is used. In code of your own add the field to the DataProto that the rollout returns, for "
        "every sample.",
    ),
    zh=Words(
        "批次中没有此步骤要读取的字段 `{field}`",
        "rollout、log-prob、参考策略、critic 与奖励依次向批次添加字段。填写 `{field}` 的一步被设置跳过,被不填写它的"
        "自定义 rollout、agent loop 或训练器替换,或属于另一版本:veRL 的分支项目会按 vLLM 版本选择 rollout 代码,版本"
        "不符时退回到没有额外字段的代码。",
        "{filled_zh}使用分支项目(Search-R1、ToRL、verl-agent 等)时安装其指定的 vLLM,使其自带的 rollout 代码生效。自"
        "己的代码请把该字段加入 rollout 返回的 DataProto,且每条样本都要有。",
    ),
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
