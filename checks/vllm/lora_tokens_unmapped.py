"""vLLM applies LoRA to a layer whose number of tokens it did not plan for.

## What it means
vLLM's LoRA kernels hold one entry for each token of the language model. A layer that runs on other tokens (the vision
tower of Qwen3-VL and its relatives, or its merger) has another number of them.
## What it does to a run
An assertion in `lora_shrink`, while the engine measures its memory or at the first image.
## What to do
Keep LoRA off the vision tower, or take a vLLM that knows towers.
## How it is found
In a log: by the asserted line.
## References
https://github.com/vllm-project/vllm/issues/28640
https://github.com/verl-project/verl/issues/4418
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL113", name="lora-tokens-unmapped", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"^\s{0,60}assert token_lora_mapping\.size\(0\) == M\b"),)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM's LoRA kernel got another number of tokens than it planned for",
        "The kernels count the tokens of the prompt. In a vision-language model vLLM put LoRA on layers that run on "
        "image patches (the vision tower or its merger) as well, whose number differs: vLLM 0.11.0 did not know the "
        "tower of Qwen3-VL by its name and wrapped it whatever the adapter holds.",
        "Upgrade vLLM: 0.11.1 and newer leave that tower alone. For other models, and before serving, train LoRA on "
        "the language layers only: name them in `target_modules` instead of `all-linear`, or leave the tower out "
        "(`exclude_modules='.*visual.*'` in PEFT, `actor_rollout_ref.model.exclude_modules` in veRL).",
    ),
    zh=Words(
        "vLLM 的 LoRA 内核得到的 token 数与其预期不同",
        "内核按提示的 token 计数。对视觉语言模型,vLLM 把 LoRA 也加到了处理图像块的层(视觉塔或其 merger)上,其数量不同"
        ":vLLM 0.11.0 不认识 Qwen3-VL 视觉塔的名称,无论适配器包含什么都会包装它。",
        "升级 vLLM:0.11.1 及更新版本不再处理该视觉塔。对其他模型以及部署之前,只在语言层上训练 LoRA:在 "
        "`target_modules` 中写明这些层而不用 `all-linear`,或排除视觉塔(PEFT 的 `exclude_modules='.*visual.*'`,veRL 的 "
        "`actor_rollout_ref.model.exclude_modules`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The asserted line alone does not show which layer it was."""
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
