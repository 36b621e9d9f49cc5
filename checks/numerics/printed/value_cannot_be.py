"""Judges value-cannot-be (NUM2836), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Optional

from doctor.base.patterns import later
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.words import words_of
from doctor.checks.numerics.printed import _levels as levels
from doctor.checks.numerics.printed._groups import Group, groups, rewards_without_a_token

TOML = words_of(__name__)
PROBLEM = TOML.problem

#: words by which it is told that a baseline is the mean of a group: with a critic, or with none, nothing adds up to 0
_OF_GROUPS = later(
    r"(?i)\b(?:dr_?)?grpo|\brloo\b|\bdapo\b|\bgroup\b|group_size|rollouts_per_\w+|samples_per_\w+|num_generations"
)
_OF_CRITIC = later(r"(?i)estimator[=: ]+gae\b|\bcritic\.\w|value_model|\bvf_coef|clip_?adv|advantage_clip")
_SIZES = later(r"(?i)\bgroup[_ ]sizes?\b[^\[\n]{0,12}(?P<sizes>\[[\d, ]{3,200}\])")
#: how far from 0, of the sum of all sizes, so that it is no detail
_FAR = 0.05


def of_quoted(courses: Courses) -> Optional[Finding]:
    """What a few lines show that their own numbers rule out."""
    if not courses.excerpt:
        return None
    tried = (_of_groups, _without_token, _of_weights, _summed, _balanced, _by_levels)
    return next((told for each in tried if (told := each(courses)) is not None), None)


# advantages -----------------------------------------------------------------------------------------------------------


def _of_groups(courses: Courses) -> Optional[Finding]:
    """Advantages against a group's mean, which cancel in their group, whatever they are divided by.

    r - mean(r) adds up to 0 (GRPO), and so does n/(n-1) times it (leave-one-out).
    """
    if _OF_CRITIC.search(courses.words) or not _OF_GROUPS.search(courses.words):
        return None
    for group in groups(courses.words):
        for rewards, advantages in _by_prompt(group):
            if len(advantages) < 2 or _cancels(advantages, group.rounding):
                continue
            equal = len(rewards) > 1 and len(set(rewards)) == 1
            message = TOML["foreign" if equal else "uncentred"]
            sizes = _SIZES.search(courses.words)
            uneven = sizes is not None and len(set(sizes["sizes"].strip("[]").replace(" ", "").split(","))) > 1
            return found(
                PROBLEM, message, confidence=LIKELY, count=len(advantages), sum=f"{sum(advantages):+.3g}",
                advantages=_shown(advantages), reward=f"{rewards[0]:g}" if equal else "",
                prompts=bool(group.prompts), sizes=sizes["sizes"].strip("[]") if sizes and uneven else "",
            )  # fmt: skip
    return None


def _by_prompt(group: Group) -> Iterator[tuple[Sequence[float], Sequence[float]]]:
    if not group.prompts:
        yield group.rewards, group.advantages
        return
    for prompt in dict.fromkeys(group.prompts):
        places = [place for place, each in enumerate(group.prompts) if each == prompt]
        rewards = [group.rewards[place] for place in places] if group.rewards else []
        yield rewards, [group.advantages[place] for place in places]


def _cancels(advantages: Sequence[float], rounding: float) -> bool:
    size = sum(map(abs, advantages))
    return abs(sum(advantages)) <= max(rounding, _FAR * size)


def _shown(values: Sequence[float]) -> str:
    told = ", ".join(f"{each:g}" for each in values[:4])
    return f"{told}, …" if len(values) > 4 else told


def _without_token(courses: Courses) -> Optional[Finding]:
    told = rewards_without_a_token(courses.words)
    if told is None:
        return None
    return found(PROBLEM, TOML["tokenless"], confidence=LIKELY, number=told[0], reward=f"{told[1]:g}")


# totals and bounds ----------------------------------------------------------------------------------------------------

_NEAR = 2e-3


def _of_weights(courses: Courses) -> Optional[Finding]:
    """A total that is the plain sum of its parts, although weights are set."""
    weights, total = courses.settings.get("reward_weights"), courses.of.get("reward")
    parts = [each for name, each in courses.of.items() if name.startswith("rewards/") and name.endswith("/mean")]
    parts = parts or [each for name, each in courses.of.items() if name.startswith("rewards/") and name.count("/") == 1]
    if total is None or not isinstance(weights, list | tuple) or len(weights) != len(parts) or len(parts) < 2:
        return None
    if not all(isinstance(each, int | float) for each in weights) or all(each == 1 for each in weights):
        return None
    first, last = [each.first for each in parts], [each.last for each in parts]
    if not (_is_plain(total.first, first, weights) and _is_plain(total.last, last, weights)):
        return None
    return found(
        PROBLEM, TOML["unweighted"], confidence=LIKELY, where=Where(file=total.source, step=total.last_step),
        weights=", ".join(f"{each:g}" for each in weights), value=f"{total.last:.3g}",
        weighted=f"{_weighted(last, weights):.3g}",
    )  # fmt: skip


def _is_plain(value: float, parts: Sequence[float], weights: Sequence[float]) -> bool:
    """Whether a total is the sum of its parts and not their weighted sum."""
    return abs(value - sum(parts)) <= _NEAR * max(1.0, abs(value)) < abs(value - _weighted(parts, weights))


def _weighted(parts: Sequence[float], weights: Sequence[float]) -> float:
    return sum(weight * part for weight, part in zip(weights, parts, strict=True))


#: the share of pairs that are ordered rightly; chance is a half, so no percentage of it is as small as this
_ACCURACY = later(r"(?i)\b(?P<name>(?:rewards?[/_])?accurac(?:y|ies))['\"]?\s?[:=]\s?['\"]?(?P<value>\d{1,2}\.\d+)")
_OF_PAIRS = later(r"(?i)\b(?:dpo|orpo|simpo|cpo|kto|chosen|rejected|margins?)")
_ACCUMULATION = (
    "gradient_accumulation_steps", "accumulate_grad_batches", "grad_accum_steps", "accumulation_steps",
    "num_micro_batches",
)  # fmt: skip
_FEWEST, _MOST_TIMES = 2, 32


def _summed(courses: Courses) -> Optional[Finding]:
    """Shares of more than 1, which no percentage is: what is added up over micro-batches and never divided."""
    told = list(_ACCURACY.finditer(courses.words))
    values = [float(each["value"]) for each in told]
    if len(values) < _FEWEST or not _OF_PAIRS.search(courses.words) or not max(values) > 1:
        return None
    steps = courses.number(*_ACCUMULATION)
    if max(values) > (steps if steps is not None and steps >= _FEWEST else _MOST_TIMES):
        return None
    return found(
        PROBLEM, TOML["summed"], confidence=LIKELY, name=told[0]["name"], value=f"{max(values):g}",
        steps="" if steps is None else f"{steps:g}",
    )  # fmt: skip


#: N times the sum over experts of (share of tokens) x (mean probability): 1 where all experts are used alike, its least
#: value while the probabilities of a token add up to 1 (https://arxiv.org/abs/2101.03961, equations 4 to 6)
_BALANCE = later(
    r"(?i)\b(?P<name>(?:load[_ ]balancing|aux(?:iliary)?)[_ ]loss)['\"]?\s?[:=]\s?(?P<value>\d\.\d+(?:E[+-]\d+)?)"
)
_AT_BALANCE, _BELOW, _VALUES = (0.95, 1.6), 0.9, 3


def _balanced(courses: Courses) -> Optional[Finding]:
    """A loss of balance that begins at its least value, 1, and falls below it."""
    told = list(_BALANCE.finditer(courses.words))
    values = [float(each["value"]) for each in told]
    if len(values) < _VALUES or not _AT_BALANCE[0] <= values[0] <= _AT_BALANCE[1] or not values[-1] < _BELOW:
        return None
    return found(
        PROBLEM, TOML["balance"], confidence=LIKELY, name=told[0]["name"], first=f"{values[0]:.3g}",
        value=f"{values[-1]:.3g}", sigmoid="sigmoid" in courses.words.lower(),
    )  # fmt: skip


# levels ---------------------------------------------------------------------------------------------------------------


def _by_levels(courses: Courses) -> Optional[Finding]:
    """What a level alone rules out."""
    if (out := levels.outside(courses)) is not None:
        return found(
            PROBLEM, TOML["clamped"], confidence=LIKELY, name=out.name, value=f"{out.value:.3g}",
            low=f"{out.low:g}", high=f"{out.high:g}", parts=str(out.parts) if out.parts else "",
        )  # fmt: skip
    if (one := levels.of_one_row(courses)) is not None:
        return found(PROBLEM, TOML["one_row"], confidence=LIKELY, name=one.name, rows=one.rows, ranks=one.ranks)
    if (sized := levels.unscaled(courses)) is not None:
        return found(PROBLEM, TOML["unscaled"], confidence=LIKELY, norm=f"{sized[0]:.3g}", loss=f"{sized[1]:.3g}")
    if (passed := levels.vacuous(courses)) is not None:
        return found(
            PROBLEM,
            TOML["vacuous"],
            confidence=LIKELY,
            what=passed.what,
            error=passed.error,
            tolerance=passed.tolerance,
        )
    if (same := levels.alike(courses)) is not None:
        return found(
            PROBLEM, TOML["alike"], confidence=LIKELY, one=same[0], other=same[1], rate="yes" if same[2] else ""
        )
    return None
