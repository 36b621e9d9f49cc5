"""What the last metrics before a failure show at an extreme: a policy without entropy, groups without a spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from doctor.base.patterns import later
from doctor.logs.failures.case import Case
from doctor.logs.failures.raised import Raised

#: metric, by the end of its name -> whether a value of it is extreme. 0.01 nats is less than one token in a hundred
#: whose choice is open; the shares are those at which nearly every group or answer is
_EXTREME: Mapping[str, Callable[[float], bool]] = {
    "entropy": lambda value: 0 <= value < 0.01,
    "frac_reward_zero_std": lambda value: value > 0.9,
    "clipped_ratio": lambda value: value > 0.9,
    "clip_ratio": lambda value: value > 0.9,
    "kl": lambda value: value > 10,
}
_VALUE = later(
    r"['\"]?(?P<name>[A-Za-z][\w/.@\-]{0,60})['\"]?\s?[:=]\s?['\"]?(?P<value>-?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?)(?![\w.:])"
)
_BEFORE, _FEWEST, _LONGEST, _MOST = 40, 3, 4_000, 3


def before(case: Case, raised: Raised) -> tuple[str, ...]:
    """Metrics of the last row before an exception that are at an extreme, as `entropy = 0.0004`."""
    source = raised.line.source
    lines = case.kept[source] if source < len(case.kept) else []
    earlier = [text for number, text in lines if number < raised.line.number][-_BEFORE:]
    for text in reversed(earlier):
        told = [(match["name"], match["value"]) for match in _VALUE.finditer(text[:_LONGEST])]
        if len(told) >= _FEWEST and any(name.endswith(("loss", "reward", "grad_norm")) for name, _ in told):
            return tuple(f"{name} = {value}" for name, value in told if _is_extreme(name, float(value)))[:_MOST]
    return ()


def _is_extreme(name: str, value: float) -> bool:
    last = name.rpartition("/")[2]
    known = _EXTREME.get(last) or _EXTREME.get(name)
    return known is not None and known(value)
