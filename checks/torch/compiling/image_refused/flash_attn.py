"""Judges TOR4540/flash_attn, a row of image-refused; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_XFORMERS = TOML["log_xformers"]


_INVALID = (
    "The driver cannot load the code: it was built with a newer CUDA than the driver supports, or the file is damaged.",
    "驱动无法加载其中的代码:构建所用的 CUDA 比驱动支持的新,或文件损坏。",
)
_ABSENT = (
    (
        "It was built for other architectures: FlashAttention 2 needs Ampere or newer, FlashAttention 3 runs on Hopper "
        "alone, and many wheels hold nothing for consumer Blackwell (sm_120)."
    ),
    (
        "它是为其他架构构建的:FlashAttention 2 需要 Ampere 及以上,FlashAttention 3 只支持 Hopper,"
        "许多 wheel 不含消费级 Blackwell(sm_120)的代码。"
    ),
)


def explain(hits: Hits) -> Finding:
    """Code of a newer CUDA is refused as invalid; code for another card is not there."""
    message = LOG_MESSAGE_XFORMERS if "xformers" in (hits.get("source") or "") else LOG_MESSAGE
    why, why_zh = _INVALID if hits.get("how") == "invalid" else _ABSENT
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        why=why, why_zh=why_zh,
    )  # fmt: skip
