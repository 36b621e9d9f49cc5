"""Judges vocabularies-of-two-models-differ (TRF062), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: rows of output layers as `vocab_size` in `config.json` tells them, without powers of two, which lengths have as well:
#: Qwen, GLM, Llama, Gemma, Mistral, Phi, Yi, InternLM, Baichuan, DeepSeek, GPT-2, OPT, Falcon, Bloom
_KNOWN = frozenset(
    {151936, 152064, 151643, 151646, 151665, 151669, 248320, 150528, 151552, 65024, 59246, 32000, 32001, 32064, 128256,
     128264, 256000, 262208, 51200, 100352, 200064, 64000, 103168, 92544, 92553, 125696, 102400, 129280, 50257, 50265,
     50304, 50272, 50280, 250880, 154880, 49152, 49280, 131584, 100278, 50688}
)  # fmt: skip
#: smaller than this, a size may be a length of text
_LEAST = 30_000


def explain(hits: Hits) -> Finding | None:
    """Two sizes beyond any usual length, one of them that of a known output layer."""
    first = hits.first
    one, two = int(first.groups["one"]), int(first.groups["two"])
    named = first.signature == 2
    if one == two or (not named and (min(one, two) < _LEAST or not {one, two} & _KNOWN)):
        return None
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if named else LIKELY,
        one=one, two=two, least=min(one, two), difference=abs(one - two),
    )  # fmt: skip
