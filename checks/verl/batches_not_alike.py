"""Two batches that veRL joins do not belong together.

## What it means
veRL joins what the rollout, the reward and the log-probabilities return with the batch they were asked about, row by
row. Both must have the same number of rows, and a field that both hold must be equal.
## What it does to a run
The step ends with an AssertionError in the protocol.
## What to do
Return one row for each row that came in, in its order, and no changed copy of a field.
## How it is found
In a log: by the protocol's assertion, with the field or both numbers of rows.
## References
https://github.com/verl-project/verl/blob/main/verl/protocol.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL038", name="batches-not-alike", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"AssertionError: Two tensor dict must have identical batch size\. Got torch\.Size\(\[(?P<one>\d{1,9})\]\) and "
        r"torch\.Size\(\[(?P<two>\d{1,9})\]\)",
    ),
    Signature(
        r"AssertionError: `?(?P<field>\w{1,80})`? in (?:tensor|meta)_dict1 and (?:tensor|meta)_dict2 are not "
        r"the same object",
    ),
)

ROWS = Message(
    en=Words(
        "veRL joins a batch of {one} rows with one of {two} rows",
        "What the rollout (or reward, or another worker) returned has another number of rows than the batch it was "
        "asked about. The batch was not repeated `rollout.n` times, or twice (the engine samples n by itself and the "
        "trainer repeats as well); rows were dropped (too long, filtered, failed) or padded and not taken off again.",
        "Return exactly one row for each that came in, also for samples that failed. With n answers for each prompt "
        "repeat once: `batch.repeat(repeat_times=config.actor_rollout_ref.rollout.n, interleave=True)` and no `n` in "
        "the sampling parameters. Take padding off with `unpad_dataproto`. {times}",
    ),
    zh=Words(
        "veRL 要合并的两个批次分别有 {one} 行与 {two} 行",
        "rollout(或奖励、其他 worker)返回的行数与请求的批次不同。批次没有按 `rollout.n` 重复,或重复了两次(引擎自己采样 "
        "n 个,训练端又重复);有的行被丢弃(过长、被过滤、失败),或补齐之后没有去掉。",
        "每个输入行恰好返回一行,失败的样本也一样。每个 prompt 有 n 个回答时只重复一次:"
        "`batch.repeat(repeat_times=config.actor_rollout_ref.rollout.n, interleave=True)`,采样参数中不再写 `n`。用 "
        "`unpad_dataproto` 去掉补齐。{times_zh}",
    ),
)
FIELD = Message(
    en=Words(
        "`{field}` is in both batches that veRL joins, with different values",
        "A field may stand on both sides only when it is equal. Here the rollout or another worker returned its own "
        "version: other padding or order, a changed prompt, an entry of `meta_info` that was set twice.",
        "Take the field out of what is returned (`output.pop(batch_keys=[...])`), or out of the batch before it is "
        "sent (`batch.pop(batch_keys=['input_ids', 'attention_mask', 'position_ids'])` as `fit` does), so that one "
        "side owns it; give one of yours another name.",
    ),
    zh=Words(
        "veRL 要合并的两个批次都有 `{field}`,且值不同",
        "只有相等时,一个字段才能同时出现在两边。此处 rollout 或其他 worker 返回了自己的版本:补齐或顺序不同、prompt 被修"
        "改,或 `meta_info` 的条目设置了两次。",
        "从返回值中去掉该字段(`output.pop(batch_keys=[...])`),或在发送前从批次中取出"
        "(如 `fit` 所做:`batch.pop(batch_keys=['input_ids', 'attention_mask', 'position_ids'])`),只由一方持有;"
        "自己的字段请换名。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Rows or a field; a multiple tells that a repetition is at fault."""
    one, two, field = hits.get("one"), hits.get("two"), hits.get("field")
    small, large = sorted((int(one or 0), int(two or 0)))
    times = large // small if small and large % small == 0 else 0
    return found(
        PROBLEM, FIELD if field else ROWS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        one=one, two=two, field=field or "",
        times=f"Here one is {times} times the other: look at the repetition first." if times > 1 else "",
        times_zh=f"此处一方是另一方的 {times} 倍:先检查重复。" if times > 1 else "",
    )  # fmt: skip
