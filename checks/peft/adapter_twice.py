"""The trainer gets a model that has an adapter, and a `peft_config` for another one.

## What it means
TRL adds an adapter by itself where `peft_config` is given; a model that came out of `get_peft_model` or
`PeftModel.from_pretrained` has one already.
## What it does to a run
TRL 0.27 and newer raise ValueError when the trainer is built; older releases stack the adapters or train
the wrong one.
## What to do
Pass either the plain model with `peft_config`, or the `PeftModel` alone.
## How it is found
In a log: by TRL's own exception.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/peft_integration
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT008", name="adapter-twice", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: You passed a `PeftModel` instance together with a `peft_config` to the trainer"),
    Signature(
        r"TypeError: (?P<unsloth>Unsloth): Your model already has LoRA adapters\. Your new parameters are different"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model has an adapter already, and `peft_config` asks for another one",
        "The trainer makes the adapter itself where `peft_config` is given; a `PeftModel` brings one along.",
        "Leave `peft_config` out to go on training the adapter that is there, or pass the plain base "
        "model: `model = model.merge_and_unload()` bakes the old adapter in first.",
    ),
    zh=Words(
        "模型已有适配器,而 `peft_config` 又要求另一个",
        "给出 `peft_config` 时训练器会自行创建适配器;`PeftModel` 则自带一个。",
        "若要继续训练已有的适配器,去掉 `peft_config`;或传入普通的基座模型:`model = "
        "model.merge_and_unload()` 可先把旧适配器合并进去。",
    ),
)

IN_UNSLOTH = Message(
    en=Words(
        "the model that Unsloth loaded carries a LoRA adapter already, with other settings",
        "A folder with `adapter_config.json` (an earlier run's output or checkpoint) is loaded together with its "
        "adapter, and `get_peft_model` was then called with another rank, alpha, dropout or other target modules.",
        "To go on training it leave `get_peft_model` out, or give it exactly the settings of `adapter_config.json`. "
        "For a new adapter load the base model (`base_model_name_or_path` in that file), or use another name or output "
        "folder than the earlier run.",
    ),
    zh=Words(
        "Unsloth 加载的模型已带有 LoRA adapter,且其设置与新的不同",
        "含有 `adapter_config.json` 的目录(先前运行的输出或检查点)会连同 adapter 一起加载,随后又以不同的 rank、alpha、"
        "dropout 或 target modules 调用了 `get_peft_model`。",
        "若要继续训练它,去掉 `get_peft_model`,或使用与 `adapter_config.json` 完全相同的设置。若要新 adapter,请加载基座"
        "模型(该文件中的 `base_model_name_or_path`),或使用与先前运行不同的名称或输出目录。",
    ),
)


def explain(hits: Hits) -> Finding:
    """TRL's trainer or Unsloth's loader."""
    message = IN_UNSLOTH if hits.get("unsloth") else LOG_MESSAGE
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence())
