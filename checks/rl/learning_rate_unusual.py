"""The learning rate lies outside what is published for this method.

## What it means
Published GRPO runs with full fine-tuning use 5e-7 (OpenRLHF's examples) to 2e-5 (Open-R1's demo), with 1e-6
as TRL's default; with LoRA TRL's guide uses 1e-6 in one place, 1e-5 in another and 5e-5 in a third. The
sources disagree, so this is information, not a verdict.
## What it does to a run
Too high a rate makes the policy collapse within some steps; too low a rate changes nothing for hours.
## What to do
Compare with the published values, and start from one of them when in doubt.
## How it is found
`learning_rate` as set, by method (full or LoRA).
## References
https://huggingface.co/docs/trl/lora_without_regret
https://github.com/huggingface/open-r1/blob/main/recipes/Qwen2.5-1.5B-Instruct/grpo/config_demo.yaml
https://github.com/OpenRLHF/OpenRLHF
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

from doctor.checks.trl._helpers import is_grpo, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import INFO, Problem
from doctor.core.reading import number, place_of
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(id="RLX001", name="learning-rate-unusual", severity=INFO, since="0.1")

FULL = Message(
    en=Words(
        "`learning_rate={rate}` for full fine-tuning; published runs use 5e-7 to 2e-5",
        "TRL's default is 1e-6, as in the DeepSeekMath paper; OpenRLHF's examples use 5e-7, an Open-R1 "
        "recipe 2e-5. Outside that range a run can be right, and is untried.",
        "Compare with the published values, and start from 1e-6 when in doubt.",
    ),
    zh=Words(
        "全参数微调使用 `learning_rate={rate}`;公开的训练采用 5e-7 到 2e-5",
        "TRL 的默认值为 1e-6,与 DeepSeekMath 论文一致;OpenRLHF 示例用 5e-7,Open-R1 的一份配置用 2e-5。超出"
        "该范围未必错误,但少有先例。",
        "与公开的取值比较;拿不准时从 1e-6 开始。",
    ),
)

LORA = Message(
    en=Words(
        "`learning_rate={rate}` for LoRA; TRL's guide uses 1e-6 to 5e-5",
        "The guide gives 1e-5 beside 1e-6 for full fine-tuning, 5e-5 in its example and 1e-6 in its "
        "command: ten times the rate of full fine-tuning is its rule. Outside that range a run can be "
        "right, and is untried.",
        "Compare with the published values, and start from 1e-5 when in doubt.",
    ),
    zh=Words(
        "LoRA 使用 `learning_rate={rate}`;TRL 的指南采用 1e-6 到 5e-5",
        "指南给出 1e-5(全参数微调为 1e-6),示例中为 5e-5,命令中为 1e-6:规律是全参数微调的十倍。超出该范围未"
        "必错误,但少有先例。",
        "与公开的取值比较;拿不准时从 1e-5 开始。",
    ),
)

#: OpenRLHF's examples, and Open-R1's recipes/Qwen2.5-1.5B-Instruct/grpo/config_demo.yaml
FULL_RANGE = (5e-7, 2e-5)

#: the smallest and the greatest rate of TRL's guide "LoRA without regret"
LORA_RANGE = (1e-6, 5e-5)

#: packages that put adapters on a model
ADAPTERS = {"peft", "unsloth"}


@check(PROBLEM)
def learning_rate_unusual(training: Training, script: Script | None) -> Judgement:
    """Judge an explicit rate by method; an adapter can come from elsewhere than `LoraConfig`."""
    setting = training.get("learning_rate")
    if not is_grpo(training) or setting is None:
        return
    rate = number(setting.value) if setting.known else None
    if rate is None:
        yield Skip("`learning_rate` could not be read without running the script")
        return
    brings_adapter = script is not None and any(each.split(".")[0] in ADAPTERS for each in script.imports)
    adapter = training.lora is not None or brings_adapter
    low, high = LORA_RANGE if adapter else FULL_RANGE
    if not low <= rate <= high:
        yield found(
            PROBLEM,
            LORA if adapter else FULL,
            where=place_of(setting),
            evidence=quoted(setting),
            rate=f"{rate:g}",
        )
