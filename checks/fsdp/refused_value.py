"""A setting of FSDP has a value that this version of FSDP does not take.

## What it means
The wrap policy or sharding strategy is none of the known words, or FSDP2 is given what only FSDP1 has: a strategy's
name for `fsdp_reshard_after_forward`, or LOCAL_STATE_DICT.
## What it does to a run
Every rank ends when the plugin is made: `Invalid auto wrap policy`, `KeyError: ...`, `invalid truth value full_shard`,
`FSDP2 does not support LOCAL_STATE_DICT`.
## What to do
Write a value that the chosen version has.
## How it is found
The values of `fsdp_config` and the launcher's options. Each failure was run with accelerate 1.15.0.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
https://huggingface.co/docs/accelerate/concept_guides/fsdp1_vs_fsdp2
"""

from __future__ import annotations

from doctor.checks.fsdp._helpers import fsdp_setting, uses_fsdp, version
from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch

PROBLEM = Problem(id="FSD002", name="fsdp-value-refused", severity=ERROR, since="0.1", affects={"accelerate": ">=1.6"})

WRAPS = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")
STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")

MESSAGE = Message(
    en=Words(
        "`{key}` is `{value}`, and FSDP{version} takes {choices}",
        "Every rank ends while accelerate makes its FSDP plugin, before the model is loaded.",
        "Write one of these values.",
    ),
    zh=Words(
        "`{key}` 是 `{value}`,而 FSDP{version} 只接受 {choices}",
        "accelerate 创建 FSDP 插件时每个 rank 都会退出,那时模型还没有加载。",
        "改成其中之一。",
    ),
)


def _choices(name: str, value: object, two: bool) -> str | None:
    """What the setting takes, None when its value is one of them."""
    text = str(value).upper()
    if name == "auto_wrap_policy" and text not in WRAPS:
        return ", ".join(WRAPS)
    if name == "sharding_strategy" and not two and text not in STRATEGIES and not text.isdecimal():
        return ", ".join(STRATEGIES)
    if name == "reshard_after_forward" and two and truth(value) is None:
        return "true or false"
    if name == "state_dict_type" and two and text == "LOCAL_STATE_DICT":
        return "SHARDED_STATE_DICT, FULL_STATE_DICT"
    return None


@check(PROBLEM)
def refused_value(launch: Launch, accelerate: AccelerateConfig | None) -> Judgement:
    """One finding a setting."""
    if not uses_fsdp(launch, accelerate):
        return
    two = version(launch, accelerate) == 2
    for name in ("auto_wrap_policy", "sharding_strategy", "reshard_after_forward", "state_dict_type"):
        setting = fsdp_setting(launch, accelerate, name)
        if setting is None or not setting.known or setting.value is None:
            continue
        choices = _choices(name, setting.value, two)
        if choices is not None:
            yield found(
                PROBLEM,
                MESSAGE,
                key=f"fsdp_{name}",
                value=setting.value,
                version="2" if two else "1",
                choices=choices,
                where=place_of(setting),
                commands=(f"fsdp_{name}: {choices.split(' or ')[0].partition(',')[0]}",),
                evidence=(proof(setting),),
            )
