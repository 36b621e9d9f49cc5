"""What an excerpt tells of the gap between the engine that samples and the trainer that learns, under any name.

A name counts where its words say so (`train_rollout_logprob_abs_diff`), or where somebody explains it ("k3_kl is
between the trainer's and the rollout's log probabilities").
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import field

from doctor.base.patterns import later
from doctor.base.record import mutable

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?"
_PAIR = later(
    r"(?P<name>[A-Za-z][\w/.@-]{1,60}(?: ratio)?)['\"]?(?: ?[:=] ?| ?~ ?| is | of )(?:tensor\(\[)?~?"
    rf"(?P<value>{_NUMBER})(?![\w.]*\w)"
)
_BY_NAME = later(
    r"(?i)(?:log_?p(?:rob)?s?|probs?|probability)[\w/]*_?(?:diff|gap|mismatch)"
    r"|(?:train\w*|policy)_(?:rollout|infer\w*|engine)|mismatch[\w/]*kl|rollout_corr/kl"
    r"|token_mult_prob_error|^TME$|importance_ratio|\bIS ratio$|_is_ratio"
)
_LEARNER = r"(?:train\w*|learner|actor|polic\w*|megatron|fsdp)\b"
_SAMPLER = r"(?:rollout|engine|generation|infer\w*|sampler|vllm|sglang)\b"
_EXPLAINED = later(
    r"(?i)(?P<name>[\w/.@-]{2,60}) (?:is|means)\b[^\n]{0,80}?\bbetween\b[^\n]{0,40}?"
    rf"(?:{_LEARNER}[^\n]{{0,40}}?\b{_SAMPLER}|{_SAMPLER}[^\n]{{0,40}}?\b{_LEARNER})"
)
#: a sentence on another run, whose last figure is the same metric there
_ELSEWHERE = later(
    r"(?i)\b(?:the same run (?P<other>(?:with|on|under) [^\n:,]{1,40}?)|(?P<when>before [^\n:,]{1,60}?))"
    rf"(?: logs| gives| has| reads|:| is| shows)+ ?(?P<value>{_NUMBER})\b"
)


@mutable
class Gap:
    """One metric of the gap: its values as they are quoted, and the same metric in another run."""

    name: str
    values: list[float] = field(default_factory=list)
    other: str = ""
    there: float = math.nan

    @property
    def bounds(self) -> tuple[float, float]:
        """Values between which sampler and learner agree.

        A mean |delta log p| up to 0.02 is healthy, above 0.1 an error (vllm-project/vime issue 94); a KL of veRL's
        rollout correction above 0.1, a mean weight outside of 0.5 to 2 (docs/algo/rollout_corr.md); NeMo-RL asks for a
        multiplicative error below 1.05 (docs/adding-new-models.md).
        """
        if "ratio" in self.name.lower():
            return 0.5, 2.0
        return (0.0, 1.05) if re.search(r"mult_prob|TME", self.name) else (-0.1, 0.1)

    @property
    def rounding(self) -> float:
        """What no rounding makes: four times the KL that bf16 leaves (0.00125), thrice its mean |delta log p|."""
        if self.bounds[1] > 1:
            return math.inf
        return 0.005 if "kl" in self.name.lower() else 0.04


def gaps_in(words: str) -> Iterator[Gap]:
    """The metrics of the gap that a text quotes."""
    explained = {match["name"] for match in _EXPLAINED.finditer(words)}
    named: dict[str, Gap] = {}
    for match in _PAIR.finditer(words):
        name = match["name"]
        if (name in explained or _BY_NAME.search(name)) and not _in_sentence(words, match.start()):
            named.setdefault(name, Gap(name)).values.append(float(match["value"]))
    elsewhere = next(_ELSEWHERE.finditer(words), None)
    for gap in named.values():
        if elsewhere is not None and len(named) == 1:
            gap.other, gap.there = (elsewhere["other"] or elsewhere["when"]).strip(), float(elsewhere["value"])
        yield gap


def _in_sentence(words: str, place: int) -> bool:
    """Whether a name stands where another run is spoken of."""
    line = words[words.rfind("\n", 0, place) + 1 : words.find("\n", place) if "\n" in words[place:] else len(words)]
    return _ELSEWHERE.search(line) is not None
