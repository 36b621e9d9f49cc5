"""Judges PYT3270/optional, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: how the sentence calls it -> how the index does
_DISTRIBUTION = {
    "math_verify": "math-verify", "comet_ml": "comet-ml", "trl[peft]": "peft", "trl[judges]": "llm-blender",
    "Pillow": "pillow", "liger_kernel": "liger-kernel", "flash_attn": "flash-attn --no-build-isolation",
    "qwen_vl_utils": "qwen-vl-utils", "vLLM": "vllm", "SGLang": "sglang[all]",
}  # fmt: skip


_OLD = later(r"[Uu]pgrade|cannot import name|too old|outdated")
#: without one of these a sentence only recommends a package
_WANTED = later(
    r"requir|not install|n't installed|not found|missing|n't find|not available|need|install it|[Pp]lease install"
)


def _own_extension(hit: Hit) -> bool:
    """A name that is undefined in a program of its own, and not in the templates of transformers."""
    return bool(hit.groups.get("jinja") and hit.frames and not any("transformers" in frame for frame in hit.frames))


def explain(hits: Hits) -> Finding | None:
    """Names in the sentence's order, as the package index spells them; an upgrade is asked for what is there."""
    if all(_OLD.search(each.text) or _own_extension(each) for each in hits):
        return None
    text = (
        hits.get("names")
        or hits.get("name")
        or ("jinja2" if hits.get("jinja") else "cuda-bindings" if hits.get("cuda") else "")
    )
    packages = [_DISTRIBUTION.get(each, each) for each in re.findall(r"[\w\-.\[\]]{2,60}", text)]
    names = ", ".join(f"`{each.partition(' ')[0]}`" for each in packages)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), names=names, packages=" ".join(packages),
        confidence=CONFIRMED if any(_WANTED.search(each.text) for each in hits) else LIKELY,
    )  # fmt: skip
