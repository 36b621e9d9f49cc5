"""A micro-batch size is missing, or given twice.

## What it means
Without dynamic batches veRL wants exactly one of `..._micro_batch_size_per_gpu` and its deprecated global
form, for the actor, for the log probabilities of the rollout, and for those of the reference model where
one is used. All are null by default.
## What it does to a run
`Please set at least one of ...`, or `You have set both ...`, at the start.
## What to do
Set the form that ends in `_per_gpu`, or `actor.use_dynamic_bsz=True`.
## How it is found
The composed values. The reference model counts where a KL term needs it.
## References
https://github.com/verl-project/verl/blob/v0.6.1/verl/utils/config.py
https://github.com/verl-project/verl/blob/v0.6.1/verl/workers/config/actor.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ACTOR, REF, ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="VRL005", name="verl-micro-batch-unclear", severity=ERROR, since="0.1", affects={"verl": ">=0.2"})

SIGNATURES = (
    Signature(
        r"\[(?P<part>[\w.]{1,60})\] (?P<how>Please set at least one of|You have set both)"
        r" '(?P<key>[\w.]{1,120})'"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{part}`: a micro-batch size is missing or given twice",
        "Exactly one of the whole micro-batch size and the one per GPU is wanted, and only the one "
        "per GPU is still supported.",
        "Set `{key}_per_gpu=...` and take `{key}` out; with `use_dynamic_bsz=True` none of them is read.",
    ),
    zh=Words(
        "`{part}`:micro batch 大小缺失或重复设置",
        "整体的与每张 GPU 的 micro batch 只能设置其一,且仅支持每张 GPU 的写法。",
        "设置 `{key}_per_gpu=...` 并删除 `{key}`;若 `use_dynamic_bsz=True` 则两者都不读取。",
    ),
)

MISSING = Message(
    en=Words(
        "Neither `{short}` nor `{short}_per_gpu` of `{part}` is set",
        "Both are null in veRL {version}, and its check of the configuration ends with `set at least one of`.",
        "Set `{key}_per_gpu`, or `actor_rollout_ref.actor.use_dynamic_bsz=True`.",
    ),
    zh=Words(
        "`{part}` 的 `{short}` 和 `{short}_per_gpu` 都没有设置",
        "两者在 veRL {version} 中默认为 null,配置检查会以 `set at least one of` 退出。",
        "设置 `{key}_per_gpu`,或 `actor_rollout_ref.actor.use_dynamic_bsz=True`。",
    ),
)

TWICE = Message(
    en=Words(
        "Both `{short}` and `{short}_per_gpu` of `{part}` are set",
        "The first is deprecated, and the check of the configuration ends with `You have set both`.",
        "Keep `{key}_per_gpu` alone.",
    ),
    zh=Words(
        "`{part}` 的 `{short}` 和 `{short}_per_gpu` 同时设置了",
        "前者已弃用,配置检查会以 `You have set both` 退出。",
        "只保留 `{key}_per_gpu`。",
    ),
)


PARTS = (
    (ACTOR, "ppo_micro_batch_size"),
    (ROLLOUT, "log_prob_micro_batch_size"),
    (REF, "log_prob_micro_batch_size"),
)


def _uses_reference(verl: Verl) -> bool:
    return bool(verl.is_on(ACTOR + "use_kl_loss") or verl.is_on("algorithm.use_kl_in_reward"))


@check(PROBLEM)
def micro_batch_unclear(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Each part on its own: the user mends them all at once."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    if verl.is_on(ACTOR + "use_dynamic_bsz") is not False or not verl.is_fsdp:
        return
    for part, short in PARTS:
        key = part + short
        one, other = verl.value(key), verl.value(key + "_per_gpu")
        if UNKNOWN in (one, other) or (part == REF and not _uses_reference(verl)):
            continue
        if (one is None) == (other is None):
            yield found(
                PROBLEM,
                MISSING if one is None else TWICE,
                part=part.rstrip("."),
                short=short,
                key=key,
                version=verl.version,
                where=place_of(*place_settings(verl, key, key + "_per_gpu")),
                commands=(f"{key}_per_gpu={4 if other is None else other}",),
                evidence=verl.quoted(key, key + "_per_gpu"),
            )
