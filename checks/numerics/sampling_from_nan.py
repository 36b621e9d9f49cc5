"""Generation met probabilities that are NaN or infinite.

## What it means
The logits of the model are NaN or infinite when a token is to be drawn. The weights are damaged by an
earlier step (NaN gradient, far too high learning rate, a loss over NaN advantages), were loaded broken or
empty, or fp16 overflowed for a model made for bf16.
## What it does to a run
`torch.multinomial` raises on the CPU; on a GPU it is a device-side assert.
## What to do
Find the first step with a NaN in the metrics, and mend what it came from.
## How it is found
In a log: by torch's exception; `nan` in the metrics before it tells a damaged policy from a broken start.
## References
https://pytorch.org/docs/stable/generated/torch.multinomial.html
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NUM010", name="sampling-from-nan", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"
        r"|ValueError: Detected errors during sampling! NaN in the logits",
        symptom_of=("NUM", "RLX", "TRL008", "DAT013"),
    ),
    Signature(r"'(?:loss|grad_norm|reward_std|kl)': '?nan'?", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "sampling failed: the model's probabilities are NaN or infinite, after metrics were NaN",
        "An earlier step damaged the weights: its loss, gradient or advantages were NaN, and the update "
        "wrote NaN into the policy. Usual sources are `num_generations=1` (no deviation in a group), a "
        "reward of None or NaN, a learning rate far too high, or fp16.",
        "Look at the first line with `nan`: use at least 2 generations per prompt, return a finite "
        "number from every reward function, lower `learning_rate` (1e-6 is usual for GRPO), set "
        "`max_grad_norm`, train in bf16 instead of fp16, and restart from a checkpoint before that step.",
    ),
    zh=Words(
        "采样失败:模型的概率为 NaN 或无穷大,此前指标已出现 NaN",
        "之前的某一步损坏了权重:其损失、梯度或优势值为 NaN,更新把 NaN 写入了策略。常见来源是 "
        "`num_generations=1`(组内没有标准差)、奖励为 None 或 NaN、学习率过高,或 fp16。",
        "查看第一行 `nan`:每个 prompt 至少 2 条生成,每个奖励函数都返回有限的数,降低 `learning_rate`(GRPO "
        "常用 1e-6),设置 `max_grad_norm`,用 bf16 代替 fp16,并从该步之前的检查点重新开始。",
    ),
)

LOG_MESSAGE_START = Message(
    en=Words(
        "sampling failed: the model's probabilities are NaN or infinite",
        "The weights hold NaN or give infinite logits. Where no step was trained yet they were loaded "
        "broken, empty (ZeRO-3, a missing file) or in fp16 for a model made for bf16; after some steps "
        "an update with NaN or a far too high learning rate damaged them.",
        "Load in bf16 or fp32 (`torch_dtype=torch.bfloat16`), check the weights (`any(p.isnan().any() "
        "for p in model.parameters())`), lower `learning_rate` and set `max_grad_norm`, and look for the "
        "first NaN in loss, `grad_norm` and rewards.",
    ),
    zh=Words(
        "采样失败:模型的概率为 NaN 或无穷大",
        "权重含有 NaN 或给出无穷大的 logits。若尚未训练任何一步,则是加载时就已损坏、为空(ZeRO-3、缺文件),"
        "或以 fp16 加载了为 bf16 设计的模型;若已训练若干步,则是带 NaN 的更新或过高的学习率损坏了权重。",
        "以 bf16 或 fp32 加载(`torch_dtype=torch.bfloat16`),检查权重(`any(p.isnan().any() for p in "
        "model.parameters())`),降低 `learning_rate` 并设置 `max_grad_norm`,查找损失、`grad_norm` 和奖励中"
        "的第一个 NaN。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """NaN in a metric line before it says that the training did it."""
    raised = hits.of(0)
    if not raised:
        return None
    before = any((hit.file, hit.line) < (raised[0].file, raised[0].line) for hit in hits.of(1))
    return found(
        PROBLEM,
        LOG_MESSAGE if before else LOG_MESSAGE_START,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
    )
