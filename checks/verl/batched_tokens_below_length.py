"""Prompt and response are longer than the tokens of one rollout batch.

## What it means
`rollout.max_num_batched_tokens` is 8192 by default. With chunked prefill on, veRL up to 0.6.1 wants it to
hold one sequence of `max_prompt_length` + `max_response_length` (or `rollout.max_model_len`).
## What it does to a run
The rollout workers stop: `Enable chunked prefill, max_num_batched_tokens is smaller than max_model_len`.
## What to do
Raise `max_num_batched_tokens` to that length, or switch chunked prefill off.
## How it is found
The composed values, for vLLM in synchronous mode.
## References
https://github.com/verl-project/verl/blob/v0.5.0/verl/workers/rollout/vllm_rollout/vllm_rollout_spmd.py
"""

from __future__ import annotations

from doctor.checks.verl._helpers import ROLLOUT, UNKNOWN, Verl, place_settings, verl_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(
    id="VRL009",
    name="verl-batched-tokens-below-length",
    severity=ERROR,
    since="0.1",
    affects={"verl": ">=0.3.0.post0,<0.7"},
)

MESSAGE = Message(
    en=Words(
        "`max_num_batched_tokens` is {tokens}, below the {length} tokens of prompt and response",
        "With chunked prefill on the rollout workers end with `max_num_batched_tokens is smaller than max_model_len`.",
        "Raise `max_num_batched_tokens` to at least {length}, or set `enable_chunked_prefill=False`.",
    ),
    zh=Words(
        "`max_num_batched_tokens` 为 {tokens},小于 prompt 与回答的总长 {length}",
        "开启 chunked prefill 时,rollout worker 会以 `max_num_batched_tokens is smaller than max_model_len` 退出。",
        "把 `max_num_batched_tokens` 提高到至少 {length},或设置 `enable_chunked_prefill=False`。",
    ),
)


KEY = ROLLOUT + "max_num_batched_tokens"


@check(PROBLEM)
def batched_tokens_below_length(verl_config: VerlConfig, packages: Packages, launch: Launch) -> Judgement:
    """Asynchronous rollouts do not make this check."""
    verl = verl_of(verl_config, packages, launch)
    if not isinstance(verl, Verl):
        yield from verl
        return
    keys = ("data.max_prompt_length", "data.max_response_length")
    tokens, prompt, response = verl.number(KEY), *map(verl.number, keys)
    window = verl.value(ROLLOUT + "max_model_len")
    if verl.value(ROLLOUT + "name") != "vllm" or verl.value(ROLLOUT + "mode") not in {None, "sync"}:
        return
    if not tokens or not prompt or not response or window is UNKNOWN:
        return
    length = whole(window) or prompt + response
    if tokens >= length or verl.is_on(ROLLOUT + "enable_chunked_prefill") is not True:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        tokens=tokens,
        length=length,
        where=place_of(*place_settings(verl, KEY, *keys)),
        commands=(f"{KEY}={length}",),
        evidence=verl.quoted(KEY, *keys),
    )
