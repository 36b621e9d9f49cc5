"""PEFT is asked for an adapter that the model does not have or cannot take.

## What it means
Adapters have names ("default", "ref", "train"), and all adapters of one model are of one kind.
## What it does to a run
ValueError or RuntimeError when the model or the trainer is made.
## What to do
What the finding says for the call that failed.
## How it is found
In a log: by PEFT's and PyTorch's messages.
## References
https://huggingface.co/docs/peft/package_reference/peft_model
https://huggingface.co/docs/trl/dpo_trainer#reference-model-considerations-with-peft
https://github.com/huggingface/peft/blob/v0.17.1/src/peft/peft_model.py
"""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="PFT014", name="adapter-call-unfit", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"ValueError: (?:Adapter|Adapter with name) '?(?!(?:checkpoint|weights) )(?P<name>[\w\-.]{1,60})'? "
            r"(?:not found|does not exist)"
        ),
        Message(
            en=Words(
                "the model has no adapter named `{name}`",
                "Names are given when an adapter is loaded (`load_adapter(path, adapter_name=...)`); the first "
                'one is called "default". TRL\'s trainers look for the names in `model_adapter_name` and '
                "`ref_adapter_name`.",
                "See `print(model.peft_config.keys())`; load the second one before the trainer is made: "
                '`model.load_adapter(PATH, adapter_name="{name}")`, or take that argument out.',
            ),
            zh=Words(
                "模型没有名为 `{name}` 的适配器",
                '名称在加载适配器时给出(`load_adapter(path, adapter_name=...)`),第一个叫 "default"。TRL 的训练器'
                "按 `model_adapter_name` 和 `ref_adapter_name` 查找。",
                "查看 `print(model.peft_config.keys())`;在创建训练器之前加载第二个:`model.load_adapter(PATH, "
                'adapter_name="{name}")`,或去掉该参数。',
            ),
        ),
    ),
    (
        (
            r"ValueError: Cannot combine adapters with different peft types\. Found "
            r"(?:PeftType\.)?(?P<there>\w{2,30}) and (?:PeftType\.)?(?P<given>\w{2,30})"
        ),
        Message(
            en=Words(
                "the model holds a {there} adapter and was given a {given} one",
                "One `PeftModel` takes adapters of one kind.",
                "Load them into `PeftMixedModel` (`PeftMixedModel.from_pretrained`), or each into its own copy "
                "of the model; look at `peft_type` in both `adapter_config.json`.",
            ),
            zh=Words(
                "模型持有 {there} 适配器,又加入了 {given} 适配器",
                "一个 `PeftModel` 只接受同一种类的适配器。",
                "用 `PeftMixedModel`(`PeftMixedModel.from_pretrained`)加载,或分别加载到各自的模型副本;查看两个 "
                "`adapter_config.json` 中的 `peft_type`。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], symptom_of=("VLL053",)),
    Signature(CASES[1][0]),
)


#: others speak of adapters, too
_LIBRARY = re.compile(r"[\\/](?:peft|transformers|trl|diffusers|unsloth\w*|vllm|sglang|swift|verl|llamafactory)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for."""
    frames = hits.first.frames
    if frames and not any(_LIBRARY.search(frame) for frame in frames):
        return None
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
