"""`save_only_model` is set, and FSDP saves shards.

## What it means
The state dict type is SHARDED_STATE_DICT, which is also FSDP2's default in accelerate, and the training arguments
say that only the model is saved.
## What it does to a run
The Trainer refuses: `save_only_model option is not compatible with FSDP state dict type 'SHARDED_STATE_DICT'`.
## What to do
Set `fsdp_state_dict_type: FULL_STATE_DICT`, or leave `save_only_model` out.
## How it is found
The key of the file with accelerate's default for the version, and the argument.
In a log: by the exception of the Trainer.
## References
https://github.com/huggingface/transformers/blob/v4.56.2/src/transformers/trainer.py
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
"""

from __future__ import annotations

from doctor.checks.fsdp._helpers import fsdp_setting, uses_fsdp, version
from doctor.checks.launch._helpers import proofs
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, truth
from doctor.core.signature import Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.training import Training

PROBLEM = Problem(
    id="FSD005", name="fsdp-only-model-with-shards", severity=ERROR, since="0.1", affects={"transformers": ">=4.56"}
)

SIGNATURES = (
    Signature(
        r"ValueError: save_only_model option is not compatible with FSDP state dict type"
        r" 'SHARDED_STATE_DICT'",
    ),
    Signature(
        r"ValueError: [^\n]{1,60} can't be used with `save_only_model` along with"
        r" `load_best_model_at_end`",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`save_only_model=True` does not go with the shards that FSDP or DeepSpeed saves",
        "A checkpoint in shards cannot be loaded again without the state that `save_only_model` leaves out.",
        "Set `save_only_model=False`, or `fsdp_state_dict_type: FULL_STATE_DICT`; with "
        "`load_best_model_at_end` only the first helps.",
    ),
    zh=Words(
        "`save_only_model=True` 与 FSDP 或 DeepSpeed 保存的分片不兼容",
        "没有 `save_only_model` 省略的状态,分片检查点就无法再次加载。",
        "设置 `save_only_model=False`,或 `fsdp_state_dict_type: FULL_STATE_DICT`;使用 "
        "`load_best_model_at_end` 时只有前者有效。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`save_only_model` is set, and FSDP{version} saves SHARDED_STATE_DICT",
        "The Trainer ends with `save_only_model option is not compatible with FSDP state dict type "
        "'SHARDED_STATE_DICT'` before training begins.",
        "Set `fsdp_state_dict_type: FULL_STATE_DICT`, or leave `save_only_model` out.",
    ),
    zh=Words(
        "设置了 `save_only_model`,而 FSDP{version} 保存的是 SHARDED_STATE_DICT",
        "Trainer 会在训练开始前以 `save_only_model option is not compatible with FSDP state dict type "
        "'SHARDED_STATE_DICT'` 退出。",
        "设置 `fsdp_state_dict_type: FULL_STATE_DICT`,或去掉 `save_only_model`。",
    ),
)


@check(PROBLEM)
def only_model_with_shards(launch: Launch, accelerate: AccelerateConfig | None, training: Training) -> Judgement:
    """An explicit argument only; its default is off."""
    only = training.get("save_only_model")
    if not uses_fsdp(launch, accelerate) or only is None or not only.known or not truth(only.value):
        return
    number = version(launch, accelerate)
    kind = fsdp_setting(launch, accelerate, "state_dict_type")
    sharded = number == 2 if kind is None or kind.value is None else str(kind.value).upper() == "SHARDED_STATE_DICT"
    if sharded:
        commands = ("fsdp_state_dict_type: FULL_STATE_DICT",)
        place, proof = place_of(only, kind), proofs(only, kind)
        yield found(PROBLEM, MESSAGE, version=number, where=place, commands=commands, evidence=proof)
