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
    (
        r"^KeyError: '(?P<name>[\w\-.]{1,60})'$",
        Message(
            en=Words(
                "PEFT 0.5 does not find the adapter `{name}` that it was just given",
                "After `merge_and_unload()` or a second wrapping, the `PeftModel` and the tuner inside it hold two "
                "tables of adapters in this release; the new one is entered in the first and looked up in the second. "
                "LLaMA-Factory of 2023 comes here when it loads the reward model.",
                'Upgrade: `pip install -U "peft>=0.6"` (with LLaMA-Factory: its newest release and the PEFT that it '
                "names). Or save the merged model, load it anew with `from_pretrained`, and put the adapters on that.",
            ),
            zh=Words(
                "PEFT 0.5 找不到刚刚加入的适配器 `{name}`",
                "该版本在 `merge_and_unload()` 或二次包装之后,`PeftModel` 与其内部的 tuner 各持有一张适配器表;新适配"
                "器写入前者,却在后者中查找。2023 年的 LLaMA-Factory 在加载奖励模型时会遇到。",
                '升级:`pip install -U "peft>=0.6"`(LLaMA-Factory:使用最新版本及其要求的 PEFT)。或保存合并后的模型,用 '
                "`from_pretrained` 重新加载,再加上适配器。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], symptom_of=("VLL053",)),
    Signature(CASES[1][0]),
    Signature(CASES[2][0], frame=r"peft[\\/]tuners[\\/]tuners_utils\.py:inject_adapter$"),
)


#: others speak of adapters, too
_LIBRARY = re.compile(r"[\\/](?:peft|transformers|trl|diffusers|unsloth\w*|vllm|sglang|swift|verl|llamafactory)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for."""
    frames = hits.first.frames
    if frames and not any(_LIBRARY.search(frame) for frame in frames):
        return None
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
