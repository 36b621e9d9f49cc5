"""A request is longer than the context of SGLang.

## What it means
Prompt and answer together must fit into `--context-length`, by default the length that the model's configuration names.
## What it does to a run
The request is refused; the rollout raises or loses it.
## What to do
A longer context where the model can, or shorter requests.
## How it is found
In a log, by SGLang's error or that of veRL's server around it.
## References
https://docs.sglang.ai/advanced_features/server_arguments.html
https://github.com/QwenLM/Qwen3/issues/1321
https://github.com/verl-project/verl/pull/4779
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL082", name="sglang-input-too-long", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ValueError: |message\W{1,5})The input \((?P<asked>\d{1,9}) tokens\) is longer than the "
        r"model\W{1,3}s context length \((?P<most>\d{1,9}) tokens\)",
    ),
    Signature(
        r"Requested token count exceeds the model's maximum context length of (?P<most>\d{1,9}) toke"
        r"ns\. You requested a total of (?P<asked>\d{1,9})",
    ),
    Signature(
        r"Prompt length \((?P<asked>\d{1,9})\) exceeds the model's maximum context length \((?P<most"
        r">\d{1,9})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a request of {asked} tokens was sent to an SGLang that takes {most}",
        "The limit counts prompt, chat template, images and new tokens together. In multi-turn rollouts the "
        "turns before and the results of tools add up; `rope_scaling` in config.json does not raise the limit"
        " by itself in every release.",
        "Start with a larger `--context-length` where the model was trained for it (veRL: "
        "`actor_rollout_ref.rollout.max_model_len`), lower `max_new_tokens`, drop overlong prompts "
        "(`data.filter_overlong_prompts=True`), and in multi-turn rollouts cap the results of tools. "
        "`--allow-auto-truncate` cuts prompts silently: fine for evaluation, harmful for training.",
    ),
    zh=Words(
        "向最多接受 {most} token 的 SGLang 发送了 {asked} token 的请求",
        "该上限包括 prompt、聊天模板、图像与新生成的 token。多轮 rollout 中之前各轮与工具结果会累加;"
        "并非每个版本都会因 config.json 中的 `rope_scaling` 自动提高上限。",
        "若模型支持,用更大的 `--context-length` 启动(veRL:`actor_rollout_ref.rollout.max_model_len`),"
        "减小 `max_new_tokens`,去掉过长的 prompt(`data.filter_overlong_prompts=True`),多轮 rollout 中"
        "限制工具结果的长度。`--allow-auto-truncate` 会静默截断 prompt:用于评估可以,用于训练有害。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With both lengths."""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        asked=hits.get("asked") or "",
        most=hits.get("most") or "",
    )
