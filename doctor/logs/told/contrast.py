"""What a person says beside a log of where it works and where it does not: the difference is the first suspect.

"Works with one GPU, hangs with two", "fine in 0.17, breaks in 0.18", "the merged model is fine". Such a sentence says
more than a log without a failure. It is told only where nothing else is known.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from doctor.base.patterns import later

Kind = Literal["release", "adapter", "compiled", "mode", "parallel", "ranks", "precision", "engine", "stage"]

_STATE = (
    r"(?:well|fine|ok|okay|correct(?:ly)?|right|normal(?:ly)?|as expected|perfectly|stable"
    r"|without (?:a |any )?(?:problems?|errors?|issues?|hangs?))"
)
_BY = r"(?:with|in|on|under|using|without|for|at|when)"
_WHAT = r"(?P<what>[^,.;:()\n]{2,50}?(?:\d\.\d[\w.]*)?)"
_END = r"(?=\s*(?:[,;:()\n]|\.(?:\s|$)|$|\b(?:but|and|while|whereas|it|this|the)\b))"
_IS = r"(?:runs?|ran|trains?|trained|looks?|looked|behaves?|is|are|was|were)"
_PATTERNS = (
    later(rf"(?i)\b(?:works?|worked)(?: (?:well|fine|ok|correctly|again))? (?P<by>{_BY}) {_WHAT}{_END}"),
    later(rf"(?i)\b{_IS} {_STATE} (?P<by>{_BY}) {_WHAT}{_END}"),
    later(
        rf"(?i)\b(?P<by>{_BY}) {_WHAT} (?:it |this |that |everything |all |the \w+ )?"
        rf"(?:works?|worked|{_IS} {_STATE}|grows|converges|does not (?:happen|hang|fail|occur|crash))\b"
    ),
    later(
        r"(?i)\b(?:does not|doesn't|did not|never) (?:happens?|hangs?|fails?|occurs?|crash(?:es)?) "
        rf"(?P<by>{_BY}) {_WHAT}{_END}"
    ),
    later(
        r"(?i)\b(?P<by>the|an?) (?P<what>(?:merged|unmerged|base|older|previous|eager|dense)[^,.;:()\n]{0,40}?) "
        rf"(?:works?|{_IS} {_STATE})\b"
    ),
)
#: what differs, the most telling words first
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("adapter", later(r"(?i)\bmerg\w+|\badapter|\blora\b|full (?:fine|param)")),
    ("compiled", later(r"(?i)eager|cuda.?graph|compil|fused|liger|flash|sdpa|triton|kernel")),
    (
        "mode",
        later(
            r"(?i)col+ocat|server mode|\bsync(?:hronous)?\b|async|pipeline mode|in.?flight|sleep|offload|prefix.?cach"
            r"|radix"
        ),
    ),
    (
        "parallel",
        later(
            r"(?i)(?:tensor|pipeline|context|sequence|expert|data)[ _-]?parallel|\b(?:tp|pp|cp|sp|ep|dp)\b[ _=-]?\d?"
        ),
    ),
    (
        "precision",
        later(r"(?i)\b(?:fp8|fp16|bf16|bfloat16|fp32|float32|tf32|int8|int4|awq|gptq)\b|4.?bit|8.?bit|quant"),
    ),
    (
        "ranks",
        later(
            r"(?i)\b(?:one|single|a single|1|two|2|4|8|multi\w*|fewer|more)[ -]"
            r"(?:gpus?|cards?|nodes?|process\w*|ranks?|machines?)"
        ),
    ),
    (
        "release",
        later(
            r"(?i)\bv?\d+\.\d+(?:\.\d+)?\w*|\bcommit\b|\bolder\b|\bprevious (?:release|version)"
            r"|\b(?=[a-f]*\d)[0-9a-f]{7,12}\b|\bbefore the (?:update|upgrade)"
        ),
    ),
    ("stage", later(r"(?i)zero.?[0-3]|stage.?[0-3]|\bfsdp|\bddp\b|deepspeed")),
    ("engine", later(r"(?i)\bvllm\b|sglang|hugging ?face|\bhf\b|transformers|megatron")),
)
_LONGEST = 20_000


class Contrast(NamedTuple):
    """Where it works.

    Args:
        kind: of the difference.
        well: the words, with their preposition: "with one GPU".
        line: the line of the text.
        text: that line.

    """

    kind: Kind
    well: str
    line: int
    text: str


def read(said: str) -> Contrast | None:
    """The first sentence that tells where it works, and of which kind the difference is; None where none does."""
    for number, text in enumerate(said[:_LONGEST].splitlines(), 1):
        for pattern in _PATTERNS:
            for match in pattern.finditer(text[:1_000]):
                words = f"{match['by']} {' '.join(match['what'].split())}"
                kind = next((kind for kind, each in _KINDS if each.search(words)), None)
                if kind is not None:
                    return Contrast(kind, words.replace("`", "'"), number, text.strip())
    return None
