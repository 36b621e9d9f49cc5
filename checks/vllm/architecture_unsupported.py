"""vLLM has no class for the model's architecture.

## What it means
vLLM runs the architectures that it implements, or those of Transformers that fit its general back end. A
model that is newer than the release, or has code of its own, is none of them.
## What it does to a run
The engine ends while it reads config.json.
## What to do
Upgrade vLLM, or use the Transformers back end.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/models/supported_models/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL044", name="architecture-unsupported", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"Model architectures \[(?P<names>[^\]\n]{1,300})\] are not supported for now"),
    Signature(
        r"Model architecture (?P<names>\w{1,100}) was supported in vLLM until v(?P<last>[\d.]{1,12}),"
        r" and is not supported anymore",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "this vLLM has no class for {names}",
        "`architectures` of the model's config.json names a class that the release does not implement: "
        "the model is newer than it, was dropped, or is a reward or value head that your own code added.",
        "Upgrade vLLM to a release that lists the model (`pip install -U vllm`; an older one where it "
        "was dropped), try `--model-impl transformers`, or name a class that fits with `--hf-overrides "
        '\'{{"architectures": ["..."]}}\'`. For GRPO serve the plain causal language model.',
    ),
    zh=Words(
        "此 vLLM 没有 {names} 对应的类",
        "模型 config.json 的 `architectures` 指定了该版本未实现的类:模型比它更新、已被移除,或是自己的代码"
        "添加的 reward、value head。",
        "升级到支持该模型的 vLLM(`pip install -U vllm`;若已移除则使用旧版),尝试 `--model-impl "
        'transformers`,或用 `--hf-overrides \'{{"architectures": ["..."]}}\'` 指定合适的类。GRPO 请提供普通'
        "的因果语言模型。",
    ),
)
