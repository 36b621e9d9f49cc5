"""A module that `target_modules` names is of a kind that LoRA cannot adapt.

## What it means
A name can match more than linear layers: a dropout, a norm, a whole block, or a quantized layer whose
package is missing or older than PEFT wants.
## What it does to a run
PEFT raises ValueError before training.
## What to do
Name linear layers only, and install the package of a quantized layer.
## How it is found
In a log: by PEFT's exception.
## References
https://github.com/huggingface/peft/blob/v0.18.0/src/peft/tuners/lora/model.py
https://huggingface.co/docs/peft/developer_guides/lora
https://github.com/hiyouga/LlamaFactory/issues/6373
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PFT006", name="lora-target-of-wrong-kind", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: Target module (?P<module>[A-Za-z_]\w{0,60})\([^\n]{0,400}\) is not supported\."
        r" Currently, only",
    ),
    Signature(r"ValueError: Target module (?P<module>[A-Za-z_]\w{0,60})\(\s*$"),
)

LOG_MESSAGE = Message(
    en=Words(
        "`target_modules` matches a `{module}`, which LoRA cannot adapt",
        "PEFT adapts linear, embedding and convolution layers. A name such as `dense` or a pattern can "
        "match a whole block as well; a quantized linear layer is refused where its package "
        "(bitsandbytes, auto-gptq, autoawq) is missing or too old for this PEFT.",
        'Set `target_modules="all-linear"` or name the linear layers themselves; for a quantized layer '
        "upgrade both: `pip install -U peft bitsandbytes`.",
    ),
    zh=Words(
        "`target_modules` 匹配到 LoRA 无法适配的 `{module}`",
        "PEFT 可适配线性层、嵌入层和卷积层。诸如 `dense` 的名称或模式也可能匹配整个模块块;量化线性层在其"
        "包(bitsandbytes、auto-gptq、autoawq)缺失或对该 PEFT 过旧时会被拒绝。",
        '设置 `target_modules="all-linear"` 或直接指明线性层;对于量化层,同时升级:`pip install -U peft bitsandbytes`。',
    ),
)

#: the head of `modules_to_save` of the first adapter is wrapped already when a second one wants it as a target
#: https://github.com/huggingface/peft/blob/v0.14.0/src/peft/utils/other.py (`ModulesToSaveWrapper`)
SECOND = Message(
    en=Words(
        "a second adapter targets a module that the first one saves whole (`ModuleDict`)",
        "A module of `modules_to_save` is kept once for each adapter in a `ModuleDict`. The adapter that is loaded now "
        "names in its `target_modules`, or by a pattern in it, something inside of that wrapper. LLaMA-Factory's PPO "
        "comes here when it loads the reward adapter beside the policy's, above all for vision-language models.",
        "Look into both `adapter_config.json`: a module may stand in `modules_to_save` or `target_modules`, not in "
        "both. LLaMA-Factory: merge the reward adapter (`llamafactory-cli export`) and use `reward_model_type: full`, "
        "or train it again with `lora_target` naming the layers (`q_proj,v_proj,...`) instead of `all`. Other code: "
        "load the second adapter onto a model of its own.",
    ),
    zh=Words(
        "第二个适配器的目标是第一个适配器整体保存的模块(`ModuleDict`)",
        "`modules_to_save` 中的模块会按适配器分别保存在 `ModuleDict` 中。现在加载的适配器在 `target_modules`"
        "(或其中的模式)里匹配到了该包装之内的内容。LLaMA-Factory 的 PPO 在策略之外再加载奖励适配器时会遇到,"
        "视觉语言模型尤其如此。",
        "查看两个 `adapter_config.json`:一个模块只能出现在 `modules_to_save` 或 `target_modules` 之一。LLaMA-Factory:"
        "先合并奖励适配器(`llamafactory-cli export`)并使用 `reward_model_type: full`,或用 `lora_target` "
        "指明各层(`q_proj,v_proj,...`)而非 `all` 重新训练它。其他代码:把第二个适配器加载到单独的模型上。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A `ModuleDict` is PEFT's own wrapper, no layer of the model."""
    module = hits.get("module")
    message = SECOND if module == "ModuleDict" else LOG_MESSAGE
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, module=module,
    )  # fmt: skip
