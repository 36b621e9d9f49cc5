"""vLLM refuses a sampling parameter.

## What it means
Each request carries sampling parameters, and vLLM checks their bounds before it generates: at least one token to
generate, a probability mass between 0 and 1, one answer only where decoding is greedy.
## What it does to a run
The rollout that sent the request raises, and with it the step.
## What to do
Correct the parameter that is named, or what it is computed from.
## How it is found
In a log, by the message of `SamplingParams`.
## References
https://docs.vllm.ai/en/latest/api/vllm/sampling_params.html
https://github.com/vllm-project/vllm/blob/v0.8.4/vllm/sampling_params.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL077", name="sampling-parameter-refused", severity=ERROR, since="0.1")

#: raised in the engine, or handed to a client in the answer of a server
_SAID = r"(?:ValueError: |ValidationError: |['\"]message['\"]: ?['\"])"

SIGNATURES = (
    Signature(
        _SAID + r"(?P<greedy>n) must be 1 when using greedy sampling, got (?P<value>\d{1,6})",
        keywords=("n must be 1 when using greedy sampling",),
    ),
    Signature(
        _SAID + r"(?P<room>max_tokens) must be at least 1, got (?P<value>-?\d{1,9})",
        keywords=("max_tokens must be at least 1",),
    ),
    Signature(
        _SAID + r"(?P<name>temperature|top_p|top_k|min_p|n|min_tokens|logprobs|prompt_logprobs|presence_penalty|"
        r"frequency_penalty|repetition_penalty|best_of) must be (?P<bounds>[^,\n]{3,60}(?:, \d\]|, 1\])?), "
        r"got (?P<value>-?[\w.]{1,20})",
        keywords=(", got ",),
    ),
)

GREEDY = Message(
    en=Words(
        "vLLM was asked for {value} answers a prompt with greedy sampling",
        "With a temperature of 0 all {value} answers would be the same text, and vLLM refuses that. A "
        "validation that was given the number of samples of the training, or a temperature of 0 in the "
        "training, leads here. Samples that are equal would leave a GRPO group without an advantage anyway.",
        "Set a temperature above 0 where several answers are wanted (1.0 for the rollouts of GRPO), or ask "
        "for one answer where decoding is to be greedy (veRL: `actor_rollout_ref.rollout.val_kwargs.n=1` "
        "beside `val_kwargs.do_sample=False`).",
    ),
    zh=Words(
        "在贪心采样下向 vLLM 请求每个 prompt {value} 个回答",
        "temperature 为 0 时 {value} 个回答会完全相同,vLLM 因此拒绝。常见原因是验证沿用了训练的采样数"
        ",或训练的 temperature 被设为 0。对 GRPO 而言,相同的样本本来也得不到优势。",
        "需要多个回答时把 temperature 设为大于 0(GRPO 的 rollout 用 1.0);需要贪心解码时只请求一个回答"
        "(veRL:`actor_rollout_ref.rollout.val_kwargs.n=1` 配合 `val_kwargs.do_sample=False`)。",
    ),
)

ROOM = Message(
    en=Words(
        "vLLM was asked for {value} new tokens, and takes requests for one or more",
        "`max_tokens` is often what remains of the length limit after the prompt: a prompt as long as the "
        "limit, or longer, leaves nothing. In multi-turn rollouts the answers of earlier turns count as prompt.",
        "Raise the limit (`max_model_len`, TRL's `vllm_max_model_length`, veRL's `data.max_response_length`),"
        " or drop prompts that fill it (`data.filter_overlong_prompts=True`); in a rollout of your own end "
        "the episode when no room is left.",
    ),
    zh=Words(
        "向 vLLM 请求生成 {value} 个新 token,而至少须为 1",
        "`max_tokens` 常由长度上限减去 prompt 得到:prompt 与上限一样长时便没有余量。多轮 rollout 中之"
        "前各轮的回答也算作 prompt。",
        "提高上限(`max_model_len`、TRL 的 `vllm_max_model_length`、veRL 的 `data.max_response_length`"
        "),或去掉占满上限的 prompt(`data.filter_overlong_prompts=True`);自定义 rollout 中在没有余量时"
        "结束该轮。",
    ),
)

BOUNDS = Message(
    en=Words(
        "vLLM refuses `{name}={value}`",
        'The value lies outside of what this release takes. Other libraries write "off" differently: `top_k` '
        "is off with 0 in newer releases of vLLM and with -1 in all of them, `top_p` with 1.0, "
        "`repetition_penalty` with 1.0, never with 0.",
        "Set `{name}` inside its bounds where the trainer or the rollout configures sampling (TRL: "
        "`GRPOConfig`; veRL: `actor_rollout_ref.rollout` and its `val_kwargs`).",
    ),
    zh=Words(
        "vLLM 拒绝 `{name}={value}`",
        "该值超出此版本接受的范围。各库表示“关闭”的写法不同:`top_k` 在较新的 vLLM 中为 0、在所有版"
        "本中为 -1,`top_p` 为 1.0,`repetition_penalty` 为 1.0,都不是 0。",
        "在训练器或 rollout 配置采样的位置把 `{name}` 设到范围之内(TRL:`GRPOConfig`;veRL:`actor_rollo"
        "ut_ref.rollout` 及其 `val_kwargs`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Several greedy answers, no room for an answer, or another parameter outside of its bounds."""
    message = GREEDY if hits.get("greedy") else ROOM if hits.get("room") else BOUNDS
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        name=hits.get("name") or "",
        value=(hits.get("value") or "").rstrip("."),
    )
