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
    Signature(
        # who refuses a request and goes on tells its own number behind it
        r"Input length \((?P<asked>\d{1,9}) tokens\) exceeds the maximum allowed length \((?P<most>\d{1,9}) tokens\)"
        r"(?![^\n]{0,120}self\.rid=)"
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


POOL = Message(
    en=Words(
        "a request of {asked} tokens was sent to an SGLang that has room for {most}",
        "The limit is the smaller one of `--context-length` and the KV cache, and a cache that is left with little "
        "memory holds less than one long request, whatever context length was asked for (`max_total_num_tokens` in the "
        "log of the start). Some releases crash over such a request, with another error behind this line.",
        "Give the cache more room: a higher `--mem-fraction-static`, more GPUs (`--tp`), `--kv-cache-dtype "
        "fp8_e5m2`, quantized weights; or send shorter prompts (`data.filter_overlong_prompts=True`). "
        "`--allow-auto-truncate` cuts prompts silently: fine for evaluation, harmful for training. Upgrade SGLang "
        "if the server dies of it.",
    ),
    zh=Words(
        "向只能容纳 {most} token 的 SGLang 发送了 {asked} token 的请求",
        "上限取 `--context-length` 与 KV 缓存中较小者;显存所剩不多时,缓存装不下一个长请求,与设置的上下文长度无关(见"
        "启动日志中的 `max_total_num_tokens`)。部分版本会因此崩溃,并在该行之后出现另一个错误。",
        "给缓存更多空间:提高 `--mem-fraction-static`,使用更多 GPU(`--tp`),`--kv-cache-dtype fp8_e5m2`,量化权重;或发"
        "送更短的 prompt(`data.filter_overlong_prompts=True`)。`--allow-auto-truncate` 会静默截断 prompt:用于评估可"
        "以,用于训练有害。若服务器因此退出,请升级 SGLang。",
    ),
)


def explain(hits: Hits) -> Finding:
    """With both lengths."""
    return found(
        PROBLEM,
        POOL if hits.of(3) else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        asked=hits.get("asked") or "",
        most=hits.get("most") or "",
    )
