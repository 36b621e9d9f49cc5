"""max_num_batched_tokens is below what one step must take.

## What it means
Without chunked prefill a prompt must fit into one step, so `max_num_batched_tokens` must be at least
`max_model_len`; and it must be at least `max_num_seqs` in any case.
## What it does to a run
The engine ends before anything is loaded.
## What to do
Raise it, lower the other, or switch chunked prefill on.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/configuration/optimization/
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL042", name="batched-tokens-too-few", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"max_num_batched_tokens \((?P<tokens>\d{1,9})\) is smaller than max_model_len"
        r" \((?P<other>\d{1,9})\)",
    ),
    Signature(
        r"max_num_batched_tokens \((?P<tokens>\d{1,9})\) must be greater than or equal to"
        r" max_num_seqs \((?P<other>\d{1,9})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`max_num_batched_tokens` of {tokens} is below {what} ({other})",
        "Each step of the engine takes at most that many tokens. Without chunked prefill a whole prompt "
        "must fit in, and every running sequence needs one.",
        "Raise `--max-num-batched-tokens` to {other} or more (`rollout.max_num_batched_tokens` in veRL), "
        "or switch `--enable-chunked-prefill` on, or lower `--max-model-len` and `--max-num-seqs`.",
    ),
    zh=Words(
        "`max_num_batched_tokens` 为 {tokens},小于 {what}({other})",
        "引擎每一步最多处理这么多 token。未启用 chunked prefill 时整个 prompt 必须放得下,且每条运行中的序"
        "列都需要一个 token。",
        "把 `--max-num-batched-tokens` 提高到 {other} 以上(veRL 为 `rollout.max_num_batched_tokens`),或启"
        "用 `--enable-chunked-prefill`,或减小 `--max-model-len` 和 `--max-num-seqs`。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Which of the two rules it was."""
    what = "`max_model_len`" if hits.of(0) else "`max_num_seqs`"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        tokens=hits.get("tokens"),
        other=hits.get("other"),
        what=what,
        commands=(f"--max-num-batched-tokens {hits.get('other')}",),
    )
