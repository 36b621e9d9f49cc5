"""What a metric is by the words of its name, where no published source of a framework is known to print it.

A loop of one's own and a framework that nobody has read call the mean reward `train/reward_mean`, `mean_reward` or
`reward/mean`. Only words that leave no doubt are read so: not `loss`, of which a loop has several, nor `kl` and
`clip_ratio`, whose other side the name does not tell; nothing of an evaluation.
"""

from __future__ import annotations

import re

_AT = r"(?:(?:train|training|rollout|actor|policy|critic|stats|metrics|batch|env|sampler?|generation)[/.])?"
_ANSWER = r"(?:response|completion|generation|output|answer)s?"
_MEAN = r"(?:mean|avg|average)"
#: pattern of a whole name -> TRL's name
_WORDS = tuple(
    (re.compile(_AT + pattern), name)
    for pattern, name in (
        (rf"{_MEAN}_rewards?|rewards?[/_]{_MEAN}", "reward"),
        (
            rf"{_MEAN}_{_ANSWER}_len(?:gth)?s?|{_ANSWER}[/_]len(?:gth)?s?[/_]{_MEAN}|{_ANSWER}_len(?:gth)?s?",
            "completions/mean_length",
        ),
        (
            rf"(?:{_ANSWER}[/_])?(?:length_)?truncat(?:ed|ion)[/_](?:ratio|rate|frac(?:tion)?|share)",
            "completions/clipped_ratio",
        ),
        (rf"{_MEAN}_entropy|entropy[/_]{_MEAN}", "entropy"),
        (r"(?:total_|global_)?grad(?:ient)?[ _]norm", "grad_norm"),
        (r"(?:norm(?:alized)?_)?adv(?:antage)?s?[/_]max|max_adv(?:antage)?s?", "critic/advantages/max"),
        (r"(?:norm(?:alized)?_)?adv(?:antage)?s?[/_]min|min_adv(?:antage)?s?", "critic/advantages/min"),
    )
)
#: no name of a metric that is meant here is longer
_LONGEST = 60


def by_words(name: str) -> str:
    """TRL's name of a metric that says what it is, or the name itself."""
    if len(name) > _LONGEST:
        return name
    return next((known for pattern, known in _WORDS if pattern.fullmatch(name)), name)
