"""Judges transformer-engine-attention-absent (VRL039), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


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
        flash=flash, reason="".join(each[0] for each in reasons), reason_zh="".join(each[1] for each in reasons),
    )  # fmt: skip
