"""Megatron stopped, because a loss or gradient was NaN or infinite.

## What it means
Megatron checks the loss of every micro batch, and the gradients before they are shared, and ends the run at the first
value that is no number. Its rerun machinery does the same computation again where it is on, to tell a wrong result of
the hardware from one of the data or the model.
## What it does to a run
All ranks end; the weights are not touched.
## What to do
Look at the micro batch and its log-probabilities; go back to the last checkpoint with a lower learning rate. Where the
second computation differs from the first, it is the GPU.
## How it is found
In a log: by Megatron's message.
## References
https://github.com/THUDM/slime/issues/795
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/rerun_state_machine.py
https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/distributed/param_and_grad_buffer.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="NUM013", name="megatron-found-nan", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Rank (?P<rank>\d{1,6}), node (?P<node>[\w.\-]{1,80}), device (?P<device>\d{1,3}), iteration "
        r"(?P<iteration>-?\d{1,9}): Unexpected result (?P<value>nan|-?inf)\b",
    ),
    Signature(
        r"found (?:NaN|Inf) in local (?:forward loss|grad norm)",
    ),
)

LOG_MESSAGE_RANK = Message(
    en=Words(
        "Megatron stopped: {value} instead of a loss or gradient on rank {at} (node {node}, GPU "
        "{device}), iteration {iteration}",
        "In reinforcement learning most often an importance ratio or log-probability overflowed (a "
        "sample whose tokens the trainer finds impossible, padding that is counted), a group without any "
        "valid token was divided by zero, or the weights were damaged a step before. If it is always "
        "this GPU, suspect the card.",
        "Look at the micro batch of that rank: response lengths of zero, masks without a token, "
        "log-probabilities of -inf, rewards. Go back to the last checkpoint, lower the learning rate, "
        "clip ratios and gradients. To find out whether the GPU computes wrongly set `--rerun-mode "
        "validate_results`; then leave node {node} out and run `dcgmi diag -r 3` there. "
        "`--no-check-for-nan-in-loss-and-grad` only hides it.",
    ),
    zh=Words(
        "Megatron 停止:rank {at}(节点 {node},GPU {device})在第 {iteration} 次迭代得到 {value} 而不是损失或梯度",
        "在强化学习中最常见的是重要性比或对数概率溢出(训练端认为某些 token 不可能出现,填充被计入),没有任"
        "何有效 token 的组被零除,或权重在前一步已损坏。若总是这张 GPU,请怀疑硬件。",
        "检查该 rank 的 micro batch:长度为零的回复、没有 token 的掩码、-inf 的对数概率、奖励。回到最近的"
        "检查点,降低学习率,裁剪比值与梯度。若要判断是否 GPU 算错,设置 `--rerun-mode validate_results`;然"
        "后排除节点 {node} 并在其上运行 `dcgmi diag -r 3`。`--no-check-for-nan-in-loss-and-grad` 只会掩盖"
        "问题。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Megatron stopped at a loss or gradient that is NaN or infinite",
        "In reinforcement learning most often an importance ratio or log-probability overflowed, a group "
        "without any valid token was divided by zero, or the weights were damaged a step before.",
        "Look at the micro batch of the rank that said it: response lengths of zero, masks without a "
        "token, log-probabilities of -inf, rewards. Go back to the last checkpoint, lower the learning "
        "rate, clip ratios and gradients; `--rerun-mode validate_results` tells whether the GPU computes "
        "wrongly.",
    ),
    zh=Words(
        "Megatron 因损失或梯度为 NaN 或无穷而停止",
        "在强化学习中最常见的是重要性比或对数概率溢出,没有任何有效 token 的组被零除,或权重在前一步已损坏。",
        "检查报告该错误的 rank 的 micro batch:长度为零的回复、没有 token 的掩码、-inf 的对数概率、奖励。"
        "回到最近的检查点,降低学习率,裁剪比值与梯度;`--rerun-mode validate_results` 可判断是否 GPU 算错。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Where it was found, as far as the message tells."""
    rank = hits.get("rank")
    return found(
        PROBLEM,
        LOG_MESSAGE_RANK if rank else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED,
        at=rank or "",
        node=hits.get("node") or "",
        device=hits.get("device") or "",
        iteration=hits.get("iteration") or "",
        value=hits.get("value") or "NaN",
    )
