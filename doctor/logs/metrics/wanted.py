"""Which metrics of a log anybody asks for: those that a rule judges, and those that a report draws."""

from __future__ import annotations

from functools import lru_cache

from doctor.catalogue.rules import RuleEngine, load_rules

#: metrics that a reader looks at first, whatever was found
USUAL = ("loss", "reward", "kl", "grad_norm")
#: and those that come behind them where there is room
FURTHER = (
    "entropy", "reward_std", "completions/mean_length", "learning_rate", "loss_scale", "step_time",
    "vllm/generation_tokens_per_s", "vllm/kv_cache_usage",
)  # fmt: skip
DRAWN = frozenset((*USUAL, *FURTHER))  # and what a rule judges


@lru_cache(maxsize=1)
def rules() -> list[type]:
    """The rules of the catalogue; imported for the first source that holds a metric at all."""
    return load_rules()


@lru_cache(maxsize=1)
def _engine() -> RuleEngine:
    """An engine that is only asked what it would want."""
    return RuleEngine(rules())


def is_wanted(name: str) -> bool:
    """Whether a metric is judged by a rule or may be drawn; by its canonical name."""
    return name in DRAWN or _engine().wants(name)


def everything(_: str) -> bool:
    """Every metric, where a table of all of them is written."""
    return True
