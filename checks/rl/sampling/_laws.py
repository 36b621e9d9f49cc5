"""Laws over metrics of sampler and learner beside the settings of a run; their words are those of RLX015."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

from doctor.base.record import record
from doctor.catalogue.courses import PROGRAM, Course, Courses, updates_a_batch


@record
class Broken:
    """A law that a run breaks: which message says so, by which metric, and the message's values."""

    message: str
    course: Course
    values: Mapping[str, Any]


_DIFFERENCE, _RATIO = "sampling/sampling_logp_difference/mean", "sampling/importance_sampling_ratio/mean"
_AGE = "sampling/staleness/mean"

#: what the frameworks call the greatest age that they allow: Miles, NeMo-RL, AReaL, SkyRL, prime-rl, Trinity-RFT
_ALLOWED = (
    "max_weight_staleness", "max_trajectory_age_steps", "max_head_offpolicyness", "max_staleness_steps",
    "max_off_policy_steps", "max_staleness", "max_staleness_versions",
)  # fmt: skip


def _older_than_allowed(courses: Courses) -> Optional[Broken]:
    """A mean age above the greatest one that is allowed; a batch's greatest may well be one that was let through."""
    allowed, course = courses.number(*_ALLOWED), courses.of.get(_AGE)
    if allowed is None or course is None or allowed < 0 or course.mean <= allowed + 1:
        return None
    return Broken("beyond", course, {"age": f"{course.mean:.3g}", "allowed": f"{allowed:g}"})


#: settings of sampling that leave a part of the vocabulary out, and their values that leave out nothing. The engine
#: renormalises over what is left, the trainer over all of it: the ratio is then the mass S that is left, in each token
#: https://github.com/huggingface/trl/issues/6789
_WHOLE = {"top_p": 1.0, "top_k": 0.0, "min_p": 0.0}


def _cut(courses: Courses) -> Optional[Broken]:
    """A gap between sampler and learner that the settings of sampling explain."""
    cut = {
        name: value
        for name, whole in _WHOLE.items()
        if (value := courses.number(name, f"sampling_{name}")) is not None and value not in (whole, -1.0)
    }
    gap, ratio = courses.of.get(_DIFFERENCE), courses.of.get(_RATIO)
    course = ratio or gap
    if not cut or course is None:
        return None
    # log S of top_p = 0.95 is 0.05, above what rounding leaves
    if (ratio is not None and ratio.last > 0.97) or (gap is not None and abs(gap.last) < 0.04):
        return None
    settings = ", ".join(f"{name}={value:g}" for name, value in cut.items())
    return Broken("truncated", course, {"metric": course.name, "value": f"{course.last:.3g}", "settings": settings})


#: settings that make both sides compute the same, bit by bit; slime's and Miles' own tests then ask for equality:
#: https://github.com/THUDM/slime/tree/main/examples/true_on_policy,
#: https://github.com/radixark/miles/blob/main/miles/utils/arguments.py
_EXACT = ("true_on_policy_mode", "true_on_policy")

#: what is added up of equal numbers is exactly 0; anything above this was a difference once
_NO_GAP = 1e-7


def _not_as_promised(courses: Courses) -> Optional[Broken]:
    """A gap, however small, in every step of a run whose settings leave none."""
    setting = next((each for each in _EXACT if courses.settings.get(each) is True), None)
    gap = courses.of.get(_DIFFERENCE)
    if setting is None or gap is None or not _NO_GAP < gap.low < math.inf:
        return None
    return Broken("promised", gap, {"metric": gap.name, "value": f"{gap.mean:.2g}", "setting": setting})


#: a mean difference of log probabilities that numbers of eight bits and fewer leave where one side has them: 0.066 was
#: measured, 0.04 in bf16 (https://github.com/radixark/miles/issues/2722). SkyRL's own tests allow 0.05 at most; above
#: 0.1 the level alone tells
_EIGHT_BITS = 0.05
#: no precision makes every token half or twice as probable: beyond this the sampler has something else
_NO_PRECISION = math.log(2)
_PRECISIONS = ("fp8", "mxfp8", "e4m3", "fp4", "nvfp4", "mxfp4", "nf4", "int8", "int4", "awq", "gptq", "blockwise")
_FEW = 5


def _in_eight_bits(courses: Courses) -> Optional[Broken]:
    """A gap in all steps beside a setting that has one side compute in eight bits or fewer."""
    gap = courses.of.get(_DIFFERENCE)
    if gap is None or gap.count < _FEW or not _EIGHT_BITS <= gap.low <= gap.high < _NO_PRECISION:
        return None
    for setting, value in courses.settings.items():
        if isinstance(value, str) and value.lower().startswith(_PRECISIONS):
            told = {"value": f"{gap.mean:.2g}", "count": gap.count, "setting": setting, "precision": value}
            return Broken("eight_bits", gap, told)
    return None


#: veRL's setting that has old log probabilities from elsewhere
_BYPASS = "bypass_mode"

#: a KL that kernels in bf16 leave (s = 0.05, see `AT_START`) is 0.00125; four times that in each step is another
#: forward
_ITSELF = 0.005


def _never_itself(courses: Courses) -> Optional[Broken]:
    """One update a batch: whenever the KL to the policy of before is told, nothing has been updated yet."""
    drift = courses.of.get("policy_drift")
    if updates_a_batch(courses.settings) != 1 or courses.settings.get(_BYPASS):
        return None
    if drift is None or drift.count < _FEW or not _ITSELF < drift.low <= drift.high < math.inf:
        return None
    return Broken("itself", drift, {"value": f"{drift.mean:.2g}", "count": drift.count})


#: logged steps after which a policy that is updated twice a batch has moved
_MOVED = 10


def _always_itself(courses: Courses) -> Optional[Broken]:
    """Several updates a batch: from the second one on the policy is not the one that made the samples.

    A mean of exactly 0 is then no measure, or the old log probabilities are made anew for each update. What is printed
    with few decimals tells neither. https://github.com/rllm-org/rllm/issues/111
    """
    updates, drift = updates_a_batch(courses.settings), courses.always("policy_drift", 0.0, 0.0)
    if updates is None or updates < 2 or drift is None or drift.count < _MOVED or not _is_fine(courses, drift.source):
        return None
    moves = courses.of.get("grad_norm")
    rests = courses.always("learning_rate", 0.0, 0.0) is not None or (moves is not None and moves.high <= 0)
    if rests or courses.settings.get(_BYPASS):
        return None
    return Broken("always_itself", drift, {"count": drift.count, "updates": f"{updates:g}"})


#: figures with more decimals than a program prints that rounds what it prints
_DECIMALS, _LARGE = 5, 1e-3


def _is_fine(courses: Courses, source: str) -> bool:
    """Whether the metrics of a source are told with more decimals than programs round to; a rate is told by itself."""
    values = (
        value
        for course in courses.of.values()
        if course.source == source and course.name != "learning_rate"
        for value in (course.first, course.last, course.low, course.high)
    )
    return any(_LARGE < abs(each) < math.inf and abs(each - round(each, _DECIMALS)) > 1e-9 for each in values)


#: levels of a gap at which the rules without settings speak, too: of probabilities, and of log probabilities
_LEVELS = {"sampling/probs_difference/mean": 0.015, _DIFFERENCE: 0.05}
#: programs and settings of a trainer that samples while it learns, and those that correct for it
_ASYNC_PROGRAMS = ("fully_async", "one_step_off", "train_async")
_ASYNC_SETTINGS = ("trigger_parameter_sync_step", "staleness_threshold", "max_head_offpolicyness", "max_async_level")
_CORRECTIONS = (
    "rollout_is",
    "use_tis",
    "use_rollout_correction",
    "importance_sampling_correction",
    "rollout_correction",
)


def _gap(courses: Courses) -> Optional[Course]:
    """A gap that lies above its level in all lines of an excerpt."""
    if not courses.excerpt:
        return None
    known = ((courses.of.get(name), level) for name, level in _LEVELS.items())
    return next((each for each, level in known if each is not None and level <= each.low < math.inf), None)


def _behind(courses: Courses) -> Optional[Broken]:
    """A gap in a run whose settings let it sample while it learns, uncorrected.

    https://github.com/verl-project/verl/issues/4449
    """
    gap, program = _gap(courses), str(courses.settings.get(PROGRAM, ""))
    setting = next((each for each in _ASYNC_PROGRAMS if each in program), None)
    setting = next(
        (f"{each}={courses.settings[each]}" for each in _ASYNC_SETTINGS if each in courses.settings), setting
    )
    corrected = any(courses.settings.get(each) not in (None, False, "null", "None") for each in _CORRECTIONS)
    if gap is None or setting is None or corrected:
        return None
    return Broken("behind", gap, {"metric": gap.name, "value": f"{gap.mean:.2g}", "setting": setting})


#: settings of several turns, and families of models whose templates strip the thoughts of earlier turns
#: https://github.com/modelscope/ms-swift/issues/4939
_TURNS = ("max_turns", "multi_turn_scheduler", "max_assistant_turns", "max_user_turns")
_THINKERS = ("qwen3", "deepseek-r1", "qwq")


def _other_history(courses: Courses) -> Optional[Broken]:
    """A gap over several turns of a reasoning model."""
    gap, model = _gap(courses), str(courses.settings.get("model", courses.settings.get("path", "")))
    several = any(courses.settings.get(each) not in (None, False, 0, 1) for each in _TURNS)
    if gap is None or not several or not any(each in model.lower() for each in _THINKERS):
        return None
    told = {"metric": gap.name, "value": f"{gap.mean:.2g}", "model": model.rpartition("/")[2]}
    return Broken("history", gap, told)


LAWS = (
    _older_than_allowed, _cut, _not_as_promised, _never_itself, _always_itself, _in_eight_bits, _other_history, _behind,
)  # fmt: skip
