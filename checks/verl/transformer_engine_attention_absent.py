"""Transformer Engine has no attention that takes these inputs.

## What it means
Megatron hands attention to Transformer Engine, which chooses among FlashAttention, cuDNN's fused attention and a plain
one. Each has limits: GPU, head sizes, packed sequences (thd), versions; where none is left, the step cannot be
computed.
## What it does to a run
The first forward pass ends with an error.
## What to do
See which one was turned off and why, then install what it wants, or ask for less.
## How it is found
In a log: by Transformer Engine's words; the reasons where NVTE_DEBUG prints them.
## References
https://github.com/NVIDIA/TransformerEngine/issues/1821
https://github.com/NVIDIA/TransformerEngine/issues/2285
https://github.com/verl-project/verl/issues/3381
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL039", name="transformer-engine-attention-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"No dot product attention (?:backend is available|support) for the provided inputs"),
    Signature(r"'flash_attn_version': '(?P<flash>not installed)'", kind="sign"),
    Signature(r"Disabling FlashAttention 2 as it does not support (?P<mla>MLA)", kind="sign"),
    Signature(r"Disabling (?P<by>\w{5,40}) due to (?P<variable>NVTE_\w{2,30}=0)", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Transformer Engine has no attention back end for these inputs{why}",
        "FlashAttention, cuDNN's fused attention and the plain one were all turned off. {reason}Usual reasons: "
        "flash-attn is not installed or outside of the versions that this Transformer Engine accepts; packed sequences "
        "(thd) exclude the plain one; different head sizes of query and value (DeepSeek's MLA) or heads above 128 need "
        "a newer GPU, cuDNN or Transformer Engine; `NVTE_FLASH_ATTN`, `NVTE_FUSED_ATTN` or `NVTE_UNFUSED_ATTN` is 0.",
        "Run once more with `NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2` in the workers: it prints for each back end why it was "
        "left out. Then install a flash-attn that it accepts, upgrade cuDNN (`nvidia-cudnn-cu12`) and Transformer "
        "Engine (MLA on Hopper: 2.x with a recent cuDNN; on Ampere it has none for packed MLA), unset the `NVTE_` "
        "variables, and leave the choice to it: veRL "
        "`+actor_rollout_ref.actor.megatron.override_transformer_config.attention_backend=auto`, slime and Megatron "
        "`--attention-backend auto`. Without packing (`use_remove_padding=False`) the plain one works.",
    ),
    zh=Words(
        "Transformer Engine 没有可用于这些输入的注意力后端{why_zh}",
        "FlashAttention、cuDNN 的融合注意力与普通实现都被关闭。{reason_zh}常见原因:没有安装 flash-attn,或其版本不在该 "
        "Transformer Engine 接受的范围内;打包序列(thd)不能用普通实现;query 与 value 的 head 大小不同(DeepSeek 的 MLA)或"
        "大于 128,需要更新的 GPU、cuDNN 或 Transformer Engine;`NVTE_FLASH_ATTN`、`NVTE_FUSED_ATTN` 或 "
        "`NVTE_UNFUSED_ATTN` 为 0。",
        "在 worker 中设置 `NVTE_DEBUG=1 NVTE_DEBUG_LEVEL=2` 再运行一次:会逐个打印后端被排除的原因。然后安装它接受的 "
        "flash-attn,升级 cuDNN(`nvidia-cudnn-cu12`)与 Transformer Engine(Hopper 上的 MLA 需要 2.x 与较新的 "
        "cuDNN;Ampere 上没有支持打包 MLA 的后端),取消 `NVTE_` 变量,并由它自行选择:veRL "
        "`+actor_rollout_ref.actor.megatron.override_transformer_config.attention_backend=auto`,slime 与 Megatron "
        "`--attention-backend auto`。不打包(`use_remove_padding=False`)时可用普通实现。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """With the reason where the debug lines stand in the log."""
    flash, mla, variable = hits.get("flash"), hits.get("mla"), hits.get("variable")
    if not hits.of(0):
        return None
    reasons = []
    if flash:
        reasons.append(("It found no flash-attn that it accepts. ", "它没有找到可接受的 flash-attn。"))
    if mla:
        reasons.append(("FlashAttention 2 does not take MLA. ", "FlashAttention 2 不支持 MLA。"))
    if variable:
        reasons.append((f"`{variable}` turned one off. ", f"`{variable}` 关闭了其中一个。"))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        why=": no flash-attn that it accepts" if flash else "", why_zh=":没有可接受的 flash-attn" if flash else "",
        reason="".join(each[0] for each in reasons), reason_zh="".join(each[1] for each in reasons),
    )  # fmt: skip
