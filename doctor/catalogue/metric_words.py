"""What a metric is by the words of its name, where no published source of a framework is known to print it.

A loop of one's own and a framework that nobody has read call the mean reward `train/reward_mean`, `mean_reward` or
`reward/mean`. Only words that leave no doubt are read so: not `loss`, of which a loop has several, nor `kl` and
`clip_ratio`, whose other side the name does not tell; nothing of an evaluation.
"""

from __future__ import annotations

from doctor.base.patterns import later

_AT = r"(?:(?:train|training|rollout|actor|policy|critic|stats|metrics|batch|env|sampler?|generation)[/.])?"
_ANSWER = r"(?:response|completion|generation|output|answer)s?"
_MEAN = r"(?:mean|avg|average)"
#: how old samples are, in updates; and the sides of a comparison that is not one with a reference
_AGES = r"(?:(?:policy|sample|trajectory|rollout|weights?|version)_(?:age|staleness|lag)|staleness(?=[/_]))"
_CALLS, _LOGP = r"(?:tool_?calls?|search(?:es)?)", r"(?:abs_)?log_?probs?"
_SIDE = r"(?:(?:train(?:er|ing)?|actor|learner)_?)?(?:rollout|sampl(?:er|ing)|infer(?:ence)?|engine|vllm|sglang)"
#: pattern of a whole name -> TRL's name
_WORDS = tuple(
    (later(f"{_AT}(?:{pattern})"), name)
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
        (r"(?:(?:process|host|cpu|memory)[_/])?(?:max_)?rss(?:_(?:bytes|kib|kb|mib|mb|gib|gb))?", "memory/rss"),
        (
            rf"(?:(?:{_MEAN}|n|num(?:ber)?(?:_of)?)_(?:valid_)?{_CALLS}|{_CALLS}_counts?)(?:[/_]{_MEAN})?|{_CALLS}[/_]{_MEAN}",
            "tools/call_frequency",
        ),
        (rf"(?:importance_)?ratio[/_]{_MEAN}|{_MEAN}_(?:importance_)?ratio", "policy_ratio"),
        (rf"(?:{_MEAN}_)?{_AGES}(?:[/_]{_MEAN})?", "sampling/staleness/mean"),
        (
            rf"(?:{_MEAN}_)?(?:{_LOGP}_(?:abs_)?(?:error|gap|mismatch)|{_SIDE}_?{_LOGP}_(?:abs_)?diff(?:erence)?)(?:[/_]{_MEAN})?",
            "sampling/sampling_logp_difference/mean",
        ),
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
