"""Judges attention-backend-unfit (VLL098), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
REFUSED = TOML["refused"]
NONE_LEFT = TOML["none_left"]
SINKS = TOML["sinks"]
SINK_TYPE = TOML["sink_type"]
HEADS = TOML["heads"]
LMCACHE = TOML["lmcache"]
TGI = TOML["tgi"]
OLD_GPU = TOML["old_gpu"]


#: words in vLLM's reasons, each with a phrase for the reason, why and what fits
REASONS = (
    "sink", "kv_cache_dtype", "compute capability", "head_size", "MLA", "KV connector", "dtype",
)  # fmt: skip


def _common(text: str) -> str:
    """Reasons that all backends give, of `{A: [x, y], B: [x]}`; all of them where none is common."""
    lists = [set(re.split(r", ?", each)) for each in re.findall(r"\[([^\]]{1,300})\]", text)]
    shared = set.intersection(*lists) if lists else set()
    return ", ".join(sorted(shared)) or text


def explain(hits: Hits) -> Finding | None:
    """What was refused and why; heads of odd size have a problem of their own."""
    told = hits.first.groups
    if told.get("all") and "head_size not supported" in told["all"]:
        return None
    message = hits.choice(
        {
            "sinks": SINKS,
            "sinktype": SINK_TYPE,
            "heads": HEADS,
            "only": LMCACHE,
            "tgi": TGI,
            "old": OLD_GPU,
            "all": NONE_LEFT,
        },
        REFUSED,
    )
    text = told.get("reasons") or _common(told.get("all") or "")
    reason = next((each for each in REASONS if each in text), "other")
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if any(told.get(each) for each in ("all", "only", "tgi", "heads", "old")) else CONFIRMED,
        heads=told.get("heads") or "",
        backend=told.get("backend") or told.get("device") or told.get("tgi") or "",
        reasons=TOML.phrase(f"reason.{reason}"),
        why=TOML.phrase(f"why.{reason}"),
        fit=TOML.phrase(f"fit.{reason}"),
    )
