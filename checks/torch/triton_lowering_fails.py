"""Triton's compiler gives up on a kernel for this card.

## What it means
A kernel is lowered in passes, and one of them failed: mostly a fault of this Triton release for this kind of card or
this kernel, not of the program. Triton 3.3.0 (torch 2.7) does so on cards before Ampere (T4, V100), 3.7.0
(torch 2.12) with a kernel of vLLM's sampler.
## What it does to a run
RuntimeError at the first use of the kernel; vLLM's engine does not start.
## What to do
Use the torch (and its Triton) that the library was released for, or another one.
## How it is found
In a log: by the exception. The versions that the log tells stand in the finding.
## References
https://github.com/unslothai/unsloth/issues/2482
https://github.com/unslothai/unsloth/issues/2432
https://github.com/pytorch/pytorch/issues/180908
https://github.com/pytorch/pytorch/issues/147377
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR037", name="triton-lowering-fails", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"^RuntimeError: PassManager::run failed"),
    Signature(r"(?P<gpu>Tesla [TVP]\d{1,3}\b|(?:GTX|RTX) (?:16|20)\d\d|Quadro RTX \d{4})", kind="sign"),
    Signature(r"Triton: (?P<triton>\d{1,2}\.\d{1,2}\.\d{1,2})", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "Triton{version} gave up while it compiled a kernel{card}",
        "A pass of its compiler failed; the program is not at fault. It is known of Triton 3.3.0 on cards before "
        "Ampere (T4, V100, RTX 20) and of Triton 3.7.0 with vLLM's sampler; fp8 and bf16 kernels on cards that lack "
        "them look the same.",
        "Install the torch that vLLM, Unsloth or the kernel's package was released for, with the Triton that it "
        "brings: `pip install -U unsloth unsloth_zoo` or `pip install -U vllm`. On a T4 or V100: torch 2.6 (Triton "
        "3.2.0), or a newer torch than 2.7.0. Remove the caches afterwards: `rm -rf ~/.triton/cache "
        "/tmp/torchinductor_$USER`. vLLM starts without most of these kernels with `--enforce-eager`.",
    ),
    zh=Words(
        "Triton{version} 在编译一个内核时放弃{card_zh}",
        "其编译器的某个 pass 失败,程序本身没有问题。已知情形:Triton 3.3.0 在 Ampere 之前的显卡(T4、V100、RTX 20)上,"
        "Triton 3.7.0 编译 vLLM 采样器时;在不支持 fp8、bf16 的显卡上编译此类内核,表现相同。",
        "安装 vLLM、Unsloth 或该内核所属包发布时对应的 torch 及其自带的 Triton:`pip install -U unsloth unsloth_zoo` "
        "或 `pip install -U vllm`。T4、V100 上使用 torch 2.6(Triton 3.2.0),或比 2.7.0 更新的 torch。随后清除缓存"
        ":`rm -rf ~/.triton/cache /tmp/torchinductor_$USER`。vLLM 用 `--enforce-eager` 可在没有大部分此类内核的情况"
        "下启动。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the release and the card where the log does."""
    if not hits.of(0):
        return None
    version, card = hits.versions.get("triton") or hits.get("triton"), hits.get("gpu")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        version=f" {version}" if version else "", card=f" for the {card}" if card else "",
        card_zh=f"(显卡 {card})" if card else "",
    )  # fmt: skip
