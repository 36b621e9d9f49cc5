"""What settings or code beside a gap between sampler and learner say of where it comes from; words of RLX015."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from doctor.base.patterns import later
from doctor.catalogue.courses import Course, Courses


class Reason(NamedTuple):
    """Which message tells it, by which metric, and the message's values."""

    message: str
    course: Course
    values: dict[str, Any]


_DIFFERENCE = "sampling/sampling_logp_difference/mean"
#: a mean |difference| that precision leaves, and one that it does not; factor between the first step and those after it
_AGREES, _APART, _TIMES = 0.05, 0.1, 5.0
#: more than this from the first step on: another model answers, not another kernel
_OTHER_MODEL = 0.5
_CACHES = later(r"(?i)prefix_cach|radix_cache|kv_cache.*(?:sync|update)|reset_prefix_cache")
#: by which way weights take the names and shapes of the engine
_CONVERTS = later(
    r"(?<![\w\-])--(?P<name>[\w\-]{0,30}(?:to-hf|convert|bridge)[\w\-]{0,20})[ =](?P<value>[A-Za-z]\w{0,30})"
)
_DIVIDED = later(r"(?i)\blogits?\b[^\n]{0,40}/\s?[\w.\[\]'\"]{0,40}temperature\b")


def parts_after_the_first(courses: Courses) -> Optional[Reason]:
    """Both sides agree until the first update, and a cache of the engine outlives it."""
    gap = courses.of.get(_DIFFERENCE)
    if gap is None or gap.count < 2 or not 0 <= gap.first == gap.low <= _AGREES:
        return None
    if gap.last < max(_APART, _TIMES * gap.first):
        return None
    on = [
        f"{name}={value}"
        for name, value in courses.settings.items()
        if isinstance(value, bool) and "." not in name and _CACHES.search(name) and value is not name.startswith("dis")
    ]
    if not on:
        return None
    values = {"metric": gap.name, "first": f"{gap.first:.2g}", "value": f"{gap.last:.3g}", "settings": ", ".join(on)}
    return Reason("cache", gap, values)


def converted(courses: Courses) -> Optional[Reason]:
    """A gap of another model from the first step on, beside an option that says how weights are converted."""
    gap, option = courses.of.get(_DIFFERENCE), _CONVERTS.search(courses.words)
    if gap is None or option is None or gap.count < 2 or not gap.low >= _OTHER_MODEL:
        return None
    told = f"--{option['name']} {option['value']}"
    return Reason("converted", gap, {"metric": gap.name, "value": f"{gap.last:.3g}", "setting": told})


def divided_twice(courses: Courses) -> Optional[Reason]:
    """A gap beside code that divides the same logits by the temperature in two places."""
    gap, temperature = courses.of.get(_DIFFERENCE), courses.number("temperature", "rollout_temperature")
    places = {" ".join(match[0].split()) for match in _DIVIDED.finditer(courses.words)}
    if gap is None or temperature is None or temperature == 1 or len(places) < 2 or not gap.low >= _AGREES / 2:
        return None
    values = {"metric": gap.name, "value": f"{gap.last:.2g}", "temperature": f"{temperature:g}"}
    return Reason("divided", gap, {**values, "product": f"{temperature**2:g}", "places": "`, `".join(sorted(places))})
