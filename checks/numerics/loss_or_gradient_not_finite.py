"""Judges loss-or-gradient-not-finite (NUM006), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Optional

from doctor.base.patterns import later
from doctor.base.stats import Alarm
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Message, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
FROM_START = TOML["from_start"]
SUPERVISED = TOML["supervised"]
BACKWARD = TOML["backward"]
PASSED = TOML["passed"]
PASSED_MANY = TOML["passed_many"]


#: finite steps running after which a NaN step counts as skipped: weights with a NaN in them give none at all
RECOVERED_AFTER = 5

#: logged NaN gradients from the first on that may be a loss scale on its way down: torch's 2^16 is 1 after 16 halvings
#: https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler
CALIBRATION = 25


#: the first step that a run logs is this one at most: a NaN there, with nothing finite before, was there from the start
EARLY = 25


@rule(PROBLEM, needs=("loss", "grad_norm"), symptom_of=("RLX006", "RLX007", "NUM008"), every_rank=True)
class LossOrGradientNotFinite:
    """Goes off at once; of the gradient only NaN counts, for infinity belongs to the loss scale."""

    def __init__(self) -> None:
        self._alarms = {"loss": Alarm(1, RECOVERED_AFTER), "grad_norm": Alarm(1, RECOVERED_AFTER)}
        self._first: Optional[Point] = None
        self._held: Optional[Point] = None  # the first NaN gradient of what may be a calibration
        self._held_count = 0
        self._seen = False  # a finite gradient
        self._finite = False  # any finite value: before it there is nothing to go back to
        self._loss: Optional[float] = None
        self._loss_at: Optional[int] = None
        self._bad = {"loss": 0, "grad_norm": 0}  # rows that were not finite
        self._last: Optional[Point] = None  # the last of them

    def update(self, point: Point) -> Optional[Finding]:
        """Judge one value."""
        value = point.value
        if point.name == "loss":
            bad, self._loss, self._loss_at = not math.isfinite(value), value, point.step
        else:
            bad = math.isnan(value)
            self._seen = self._seen or math.isfinite(value)
        message = MESSAGE if self._finite or (point.step or 0) > EARLY else FROM_START
        message = BACKWARD if bad and message is MESSAGE and self._is_of_backward(point) else message
        # the Trainer paints a NaN loss as 0, so that a 0 beside a NaN is no finite step to go back to
        self._finite = self._finite or (not bad and value != 0)
        if bad:
            self._bad[point.name] += 1
            self._last = point
        if bad and self._calibrates(point):
            return None
        if not self._alarms[point.name].see(bad, point.step):
            return None
        if self._held is not None and not self._seen:
            point, self._held = self._held, None
        if self._first is not None and any(each.on for name, each in self._alarms.items() if name != point.name):
            return None  # the same trouble, told already under the other name
        self._first = self._first or point
        return self._found(message, point, LIKELY if message is BACKWARD else CONFIRMED)

    def _is_of_backward(self, point: Point) -> bool:
        """Whether the loss of the same step is finite: a NaN that the forward pass made would be in it.

        The Trainer paints a NaN loss as 0, and leaves it out of a mean over steps (`logging_nan_inf_filter`).
        """
        if point.name != "grad_norm" or point.step is None or point.step != self._loss_at:
            return False
        return self._loss is not None and math.isfinite(self._loss) and self._loss != 0

    def _calibrates(self, point: Point) -> bool:
        """Whether a NaN gradient may be that of a scale on its way down: none was finite yet, and the loss is well."""
        if point.name == "loss" or self._seen or not self._loss or not math.isfinite(self._loss):
            return False
        self._held = self._held or point
        self._held_count += 1
        return self._held_count <= CALIBRATION

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose values are all finite."""
        if not all(stretch[name].finite for name in self._alarms):
            return False
        for name, alarm in self._alarms.items():
            alarm.rest(len(stretch[name]))
        self._seen = self._seen or len(stretch["grad_norm"]) > 0
        self._finite = self._finite or any(len(stretch[name]) > 0 for name in self._alarms)
        return True

    def _found(self, message: Message, point: Point, confidence: object) -> Finding:
        return found(
            PROBLEM,
            message,
            confidence=LIKELY if confidence is LIKELY else CONFIRMED,
            severity=ERROR if message in (MESSAGE, FROM_START, BACKWARD) else WARNING,
            name=point.name,
            value="NaN" if math.isnan(point.value) else f"{point.value:g}",
            step=step_text(point.step),
            count=self._bad[point.name],
            last=step_text((self._last or point).step),
            **sighting(point),
        )

    def finish(self) -> Optional[Finding]:
        """Say so when the run went on with finite values, or ended before a gradient was finite."""
        if self._first is None and self._held is not None and not self._seen:
            return self._found(MESSAGE if (self._held.step or 0) > EARLY else FROM_START, self._held, CONFIRMED)
        if self._first is None or any(each.on for each in self._alarms.values()):
            return None
        message = PASSED if self._bad[self._first.name] == 1 else PASSED_MANY
        return self._found(message, self._first, LIKELY)


#: settings that change how the first forward and backward pass are computed, and values that leave it plain
_SUSPECTS = later(
    r"(?i)^(?:.{0,60}[._])?(?:flash_attn|attn_impl\w*|neat_packing|packing|padding_free|use_liger\w*|enable_liger\w*|fp16|fp8"
    r"|load_in_[48]bit|quantization_bit|\w{0,20}(?:expert|context|sequence)_parallel\w{0,12}|ep_size|torch_compile"
    r"|use_unsloth|rope_scaling|moe_\w{2,30})$"
)
_PLAIN = ("0", "1", "false", "off", "no", "none", "eager", "disabled")
#: metrics of rollouts, which have other sources of a NaN
_ROLLOUTS = ("reward", "kl", "completions/mean_length", "reward_std")


def of_courses(courses: Courses) -> Optional[Finding]:
    """A NaN of one side of a pair, or from the first step on where nothing is sampled."""
    return _of_one_side(courses) or _of_the_pass(courses)


#: metrics of the two answers of a pair
_SIDES = (("logps/rejected", "logps/chosen"), ("logps/chosen", "logps/rejected"))
#: losses of preference training that divide a log probability by its number of tokens
#: https://huggingface.co/docs/trl/cpo_trainer
_BY_LENGTH = later(r"(?i)simpo|orpo|\bipo\b|\bcpo|length_normal|average_log_prob")


def _of_one_side(courses: Courses) -> Optional[Finding]:
    """Answers of one side alone are NaN at first: then what they are made of is, and not the weights."""
    for lost, kept in _SIDES:
        bad, well = courses.of.get(lost), courses.of.get(kept)
        if bad is None or well is None or bad.nan_from is None or bad.nan_from == 1:
            continue
        if well.nan_from is not None and well.nan_from <= bad.nan_from:
            continue
        length = next((f"{name}={courses.settings[name]}" for name in _LENGTHS if name in courses.settings), "")
        divided = _BY_LENGTH.search(f"{courses.words} {courses.settings.get('loss_type', '')}") is not None
        return found(
            PROBLEM, TOML["side"], confidence=LIKELY, severity=ERROR, where=Where(file=bad.source, step=bad.nan_from),
            lost=lost, kept=kept, step=step_text(bad.nan_from), length=length, divided="yes" if divided else "",
        )  # fmt: skip
    return None


#: lengths at which pairs are cut
_LENGTHS = ("max_length", "max_prompt_length", "max_completion_length", "cutoff_len")


def _of_the_pass(courses: Courses) -> Optional[Finding]:
    """A NaN from the first step on where nothing is sampled: the pass itself makes it, and settings say how it runs."""
    norm, loss = courses.of.get("grad_norm"), courses.of.get("loss")
    if norm is None or loss is None or any(each in courses.of for each in _ROLLOUTS):
        return None
    if not (math.isnan(norm.first) and math.isnan(norm.last)):
        return None
    if any(math.isfinite(value) and value != 0 for value in (loss.first, loss.last)):
        return None  # a finite loss beside it may be a loss scale on its way down
    suspects = [
        f"`{name}={value}`"
        for name, value in courses.settings.items()
        if _SUSPECTS.search(name) and str(value).lower() not in _PLAIN
    ]
    if not suspects:
        return None  # the rule has said all that is known
    return found(
        PROBLEM, SUPERVISED, confidence=LIKELY, where=Where(file=norm.source, step=norm.last_step),
        count=norm.count, suspects=", ".join(dict.fromkeys(suspects)),
    )  # fmt: skip


#: figures of an excerpt: `gen_kl_error: nan`, `'grad_norm': 1.51`
_FIGURE = later(
    r"(?i)['\"]?(?P<name>[a-z][\w./@\-]{1,60})['\"]?\s?[:=]\s?['\"]?(?P<value>nan|-?\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?)(?![\w.])"
)
_LOSS = later(r"(?i)(?:^|[/_])loss$")
_NORM = later(r"(?i)grad_?norm$")
#: what belongs to the update; rewards are NaN where a function does not apply to a row
_OF_UPDATE = later(r"(?i)(?:loss|kl|entropy|ratio|error)(?:$|[/_])")
#: settings by which weights change while tokens are computed
_MEANWHILE = later(r"(?i)in_?flight|async|partial_rollout|overlap|pipeline_parallel")
_MOST_TOLD, _LEAST_FINITE = 3, 2


def of_quoted(courses: Courses) -> Optional[Finding]:
    """A NaN that comes and goes, or stands beside a finite gradient: it is in what is shown, and not in the weights."""
    rows = [_figures(text) for text in courses.words.splitlines()]
    return _of_what_is_shown(rows) or _that_goes_away(rows, courses)


def _figures(text: str) -> dict[str, float]:
    return {each["name"]: float(each["value"]) for each in _FIGURE.finditer(text[:2_000])}


def _of_what_is_shown(rows: list[dict[str, float]]) -> Optional[Finding]:
    """A loss or KL of NaN in the same line as a finite gradient norm above 0."""
    for row in rows:
        norms = [value for name, value in row.items() if _NORM.search(name)]
        bad = [name for name, value in row.items() if math.isnan(value) and _OF_UPDATE.search(name)]
        if bad and norms and all(math.isfinite(each) and each > 0 for each in norms):
            names = ", ".join(f"`{each}`" for each in bad[:_MOST_TOLD])
            return found(PROBLEM, TOML["shown"], confidence=LIKELY, severity=WARNING, names=names, norm=f"{norms[0]:g}")
    return None


def _that_goes_away(rows: list[dict[str, float]], courses: Courses) -> Optional[Finding]:
    """Metrics that are NaN in some steps and finite again after, beside a loss that never is NaN."""
    courses_of: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            courses_of.setdefault(name, []).append(value)
    losses = [values for name, values in courses_of.items() if _LOSS.search(name) and len(values) > 1]
    if not losses or any(math.isnan(each) for values in losses for each in values):
        return None
    gone = {
        name: sum(map(math.isnan, values))
        for name, values in courses_of.items()
        if math.isnan(sum(values)) and any(map(math.isfinite, values[_first_nan(values) :]))
        and sum(map(math.isfinite, values)) >= _LEAST_FINITE
    }  # fmt: skip
    if not gone:
        return None
    settings = [
        f"`{name}={value}`"
        for name, value in courses.settings.items()
        if "." not in name and _MEANWHILE.search(name) and str(value).lower() not in _PLAIN
    ]
    names = ", ".join(f"`{each}`" for each in list(gone)[:_MOST_TOLD])
    return found(
        PROBLEM, TOML["goes"], confidence=LIKELY, severity=WARNING, names=names, count=max(gone.values()),
        settings=", ".join(settings[:_MOST_TOLD]),
    )  # fmt: skip


def _first_nan(values: list[float]) -> int:
    return next(place for place, each in enumerate(values) if math.isnan(each))
