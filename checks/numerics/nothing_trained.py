"""Judges nothing-trained (NUM016), whose words stand in the TOML beside it."""

from __future__ import annotations

import math
from typing import Any, Optional

from doctor.base.history import History
from doctor.base.patterns import later
from doctor.base.stats import Window
from doctor.catalogue.columns import Stretch
from doctor.catalogue.courses import Course, Courses
from doctor.catalogue.finding import LIKELY, Finding, Message, Where, found
from doctor.catalogue.problem import WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.words import words_of
from doctor.checks.numerics._gradient_ends import LIVING, GradientEnds

TOML = words_of(__name__)
PROBLEM = TOML.problem
#: those of a file of their own
RULES = (GradientEnds,)
MESSAGE = TOML["main"]
VANISHED = TOML["vanished"]
MASKED, CUT_OFF, CHANCE, TIMES = TOML["masked"], TOML["cut_off"], TOML["chance"], TOML["times"]
SHARE, NORMS, STANDS, EMPTY_MASK = TOML["share"], TOML["norms"], TOML["stands"], TOML["empty_mask"]
GUESSES, HELD_OUT = TOML["guesses"], TOML["held_out"]


#: norms of healthy runs are above 1e-4; below this, a step of any usual learning rate is lost in rounding
TINY = 1e-7
#: logged steps
FIRST, WHOLE_RUN = 20, 5
_REWARDS = ("reward", "reward_std", "frac_reward_zero_std")


@rule(PROBLEM, needs=("loss", "grad_norm", *_REWARDS), symptom_of=("NUM005", "NUM006", "DAT055", "DSP017"))
class NothingTrained:
    """Looks at the beginning only: a loss may become 0 in the end."""

    def __init__(self) -> None:
        self._norms = self._losses = self._tiny = 0
        self._settled = False
        self._last: Optional[Point] = None

    def update(self, point: Point) -> Optional[Finding]:
        """Count pairs of zeros until the first value that is none, or a reward; and norms next to nothing at "
        "any time.
        """
        if point.name == "grad_norm":
            self._tiny = self._tiny + 1 if 0 < point.value < TINY else 0
            if self._tiny == FIRST:
                return found(
                    PROBLEM, VANISHED, confidence=LIKELY, tiny=f"{TINY:g}", count=FIRST, step=step_text(point.step),
                    **sighting(point),
                )  # fmt: skip
        if self._settled:
            return None
        if point.value != 0 or point.name in _REWARDS:
            self._settled = True
            return None
        if point.name == "loss":
            self._losses += 1
        else:
            self._norms += 1
        self._last = point
        return self._found(point) if self._count == FIRST else None

    @property
    def _count(self) -> int:
        """Steps of which both are known."""
        return min(self._norms, self._losses)

    def calm(self, stretch: Stretch) -> bool:
        """Take every row in once the beginning is over, unless its norms are next to nothing."""
        if not self._settled or self._tiny:
            return False
        return not any(0 < value < TINY for value in stretch["grad_norm"].values)

    def _found(self, point: Point) -> Finding:
        self._settled = True
        return found(
            PROBLEM, MESSAGE, confidence=LIKELY, count=self._count, step=step_text(point.step), **sighting(point)
        )

    def finish(self) -> Optional[Finding]:
        """Judge a short run as a whole."""
        if self._settled or self._last is None or self._count < WHOLE_RUN:
            return None
        return self._found(self._last)


#: logged steps from the first on in which no label counts, or no gradient reaches a weight
NO_LABEL, NO_GRADIENT = 5, 20


@rule(PROBLEM, needs=("loss", "grad_norm", "mean_token_accuracy", *_REWARDS), symptom_of=("NUM005", "NUM006"))
class NothingReachesTheWeights:
    """Looks at the beginning: a loss of 0 with an accuracy of 0, or a loss that lives while no gradient does."""

    def __init__(self) -> None:
        self._loss = math.nan
        self._rows = self._zeros = 0
        self._course = History()
        self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in, and judge an accuracy or a norm by the loss of the same step."""
        if self.over or not math.isfinite(point.value):
            return None
        if point.name in _REWARDS:
            self.over = True
        elif point.name == "loss":
            self._loss = point.value
            self._course.push(point.value, point.step)
        elif point.name == "grad_norm":
            self._zeros = self._zeros + 1 if point.value == 0 and abs(self._loss) >= LIVING else 0
            if self._zeros == NO_GRADIENT and not self._learns():
                return self._found(point, CUT_OFF, loss=f"{self._loss:.3g}", count=NO_GRADIENT)
        elif self._loss == 0 == point.value:
            self._rows += 1
            if self._rows == NO_LABEL:
                return self._found(point, MASKED, count=NO_LABEL)
        elif self._rows or point.value:
            self.over = self._zeros == 0
        return None

    def _learns(self) -> bool:
        return _falls(self._course)

    def _found(self, point: Point, message: Message, *, count: int, loss: str = "") -> Finding:
        self.over = True
        return found(
            PROBLEM, message, confidence=LIKELY, count=count, loss=loss, step=step_text(point.step), **sighting(point)
        )


def _falls(course: History) -> bool:
    """Whether a loss falls all the same: then it is the norm that is printed wrongly."""
    line = course.slope()
    return line is not None and line.sigmas < -4


#: nats a token that guessing among ten thousand tokens costs, ln(10^4): no vocabulary of a language model is smaller
AT_CHANCE = math.log(10_000)
#: and among a million: none is larger
MOST_NATS = math.log(1_000_000)
#: logged steps
FLAT = 30


#: of a model that gives all tokens the same probability, loss and entropy are one (within this share), and accuracy is
#: exp(-loss), up to this multiple by chance: so it is known whatever the vocabulary is
SAME, LUCK = 0.05, 3.0


@rule(PROBLEM, needs=("loss", "entropy", "mean_token_accuracy", *_REWARDS), symptom_of=("RLX017",))
class LossAtChance:
    """A loss near ln(vocabulary) that does not fall: the model guesses, and does not learn to do better."""

    def __init__(self) -> None:
        self._course, self._recent = History(), Window(FLAT)
        self.over = False
        self._loss, self._entropy = math.nan, math.nan

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the first losses only: one that once was lower has learnt something."""
        if self.over:
            return None
        if point.name in _REWARDS:
            self.over = True
        elif point.name == "loss":
            self._loss = point.value
            return self._judge(point) if AT_CHANCE <= point.value <= MOST_NATS else None
        elif point.name == "entropy":
            self._entropy = point.value
        elif self._loss < AT_CHANCE:
            uniform = abs(self._loss - self._entropy) <= SAME * self._loss and self._loss >= 1
            self.over = not (uniform and point.value <= LUCK * math.exp(-self._loss))
            return None if self.over else self._judge(point._replace(name="loss", value=self._loss))
        return None

    def _judge(self, point: Point) -> Optional[Finding]:
        self._course.push(point.value, point.step)
        self._recent.push(point.value)
        if self._course.count < FLAT:
            return None
        self.over = True
        line = self._course.slope()
        if line is None or line.sigmas < -4 or line.gain < -0.5:
            return None
        loss = self._recent.median
        return found(
            PROBLEM, CHANCE, confidence=LIKELY, loss=f"{loss:.3g}", words=f"{math.exp(loss):,.0f}", count=FLAT,
            step=step_text(point.step), **sighting(point),
        )  # fmt: skip


#: logged steps, the first ones of a run, in which a policy's entropy is that of guessing
GUESSING = 3


@rule(PROBLEM, needs=("entropy", "reward"))
class PolicyGuesses:
    """The entropy of a policy at the first steps: a model that has learnt a language has one or two nats a token."""

    def __init__(self) -> None:
        self.over = False
        self._count = 0

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the first values only, and only where they begin at step 0 or 1; rewards make it a run of RL."""
        if self.over or point.name == "reward":
            return None
        early = self._count or (point.step is not None and point.step <= 1)
        if not early or not AT_CHANCE <= point.value <= MOST_NATS:
            self.over = True
            return None
        self._count += 1
        if self._count < GUESSING:
            return None
        self.over = True
        return found(
            PROBLEM, GUESSES, confidence=LIKELY, severity=WARNING, entropy=f"{point.value:.3g}",
            words=f"{math.exp(point.value):,.0f}", count=GUESSING, step=step_text(point.step), **sighting(point),
        )  # fmt: skip


#: evaluations needed, how near to a whole number their ratio must be, and how little it may scatter. A loss that is
#: summed over N micro batches instead of averaged is N times the loss on held-out data, which nothing is summed over
EVALUATIONS, NEAR, SCATTER = 3, 0.15, 0.08


@rule(PROBLEM, needs=("loss", "eval_loss", *_REWARDS))
class LossTimesAccumulation:
    """Compares the losses since the last evaluation with its loss: a ratio that stands at 2, 3, 4, ..."""

    def __init__(self) -> None:
        self._losses: list[float] = []
        self._ratios = Window(EVALUATIONS)
        self.over = False

    def update(self, point: Point) -> Optional[Finding]:
        """Take a loss in, or judge at an evaluation."""
        if self.over or not math.isfinite(point.value):
            return None
        if point.name in _REWARDS:
            self.over = True
            return None
        if point.name == "loss":
            self._losses = [*self._losses[-8:], point.value]
            return None
        losses, self._losses = sorted(self._losses), []
        if not losses or point.value <= 0:
            return None
        self._ratios.push(losses[len(losses) // 2] / point.value)
        ratio = self._ratios.median
        whole = round(ratio)
        if not self._ratios.full or whole < 2 or abs(ratio - whole) > NEAR:
            return None
        if self._ratios.high - self._ratios.low > 2 * SCATTER * ratio:
            return None
        self.over = True
        return found(
            PROBLEM, TIMES, confidence=LIKELY, severity=WARNING, ratio=f"{ratio:.2f}", whole=whole,
            evaluation=f"{point.value:.3g}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take losses in where nothing was evaluated."""
        if stretch["eval_loss"].values or any(stretch[name].values for name in _REWARDS) or not stretch["loss"].finite:
            return False
        self._losses = [*self._losses, *stretch["loss"].values][-9:]
        return True


#: values that are the same to the last of at least so many digits stand still; by chance one pair in ten thousand is
STANDING, DIGITS = 4, 4


@rule(
    PROBLEM,
    needs=("loss", "grad_norm", "learning_rate", "reward_std", "reward", "frac_reward_zero_std"),
    symptom_of=("RLX015",),
)
class NothingMoves:
    """All values of a run, or of a piece of it: a loss that is always the same, or norms that are all 0."""

    def __init__(self) -> None:
        self._losses = self._norms = 0
        self._loss: Optional[Point] = None
        self._norm: Optional[Point] = None
        self._rewarded = self._spread = self._rate = False
        self._loss_moves = self._norm_moves = self._faded = False
        self._course = History()

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in."""
        name, value = point.name, point.value
        if name == "loss":
            self._loss_moves = self._loss_moves or (self._loss is not None and self._loss.value != value)
            self._faded = self._faded or not abs(value) >= LIVING
            self._course.push(value, point.step)
            self._losses, self._loss = self._losses + 1, point
        elif name == "grad_norm":
            self._norm_moves = self._norm_moves or value != 0
            self._norms, self._norm = self._norms + 1, point
        elif name == "learning_rate":
            self._rate = self._rate or value > 0
        else:
            self._rewarded = True
            self._spread = self._spread or (name == "reward_std" and value > 0)
        return None

    @property
    def over(self) -> bool:
        """Whether both have moved."""
        return self._loss_moves and self._norm_moves

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in whose loss and norm may be anything, once these have moved."""
        losses, norms = stretch["loss"].values, stretch["grad_norm"].values
        return (self._loss_moves or not losses) and (self._norm_moves or not norms) and bool(losses or norms)

    def finish(self) -> Optional[Finding]:
        """Judge what never moved."""
        loss, norm = self._loss, self._norm
        if loss is not None and not self._rewarded and not self._loss_moves and self._losses >= STANDING:
            digits = len(f"{loss.value:.12g}".replace(".", "").lstrip("-0"))
            if math.isfinite(loss.value) and abs(loss.value) > LIVING and digits >= DIGITS:
                return self._found(loss, STANDS, self._losses)
        told = self._spread or (loss is None and not self._rewarded and self._rate)
        if norm is not None and told and not self._norm_moves and self._norms > 1:
            return self._found(norm, NORMS, self._norms)
        still = not self._norm_moves and STANDING <= self._norms < NO_GRADIENT and self._losses >= STANDING
        living = not (self._rewarded or self._faded or _falls(self._course))
        if norm is not None and loss is not None and still and living:
            return found(
                PROBLEM, CUT_OFF, confidence=LIKELY, loss=f"{loss.value:.3g}", count=self._norms,
                step=step_text(norm.step), **sighting(norm),
            )  # fmt: skip
        return None

    @staticmethod
    def _found(point: Point, message: Message, count: int) -> Finding:
        return found(
            PROBLEM, message, confidence=LIKELY, severity=WARNING, count=count, loss=f"{point.value:.6g}",
            **sighting(point),
        )  # fmt: skip


#: evaluations that agree in all digits, and digits that do not agree by chance: of a score over few rows two or three
#: may, four and more do in one case of ten thousand. Times and counts of an evaluation are none of its results
HELD, HELD_DIGITS = 3, 4
_OF_ANY_RUN = later(r"runtime|per_second|num_tokens|_steps?$|epoch|learning_rate|_time|memory|batch|samples|count")


@rule(PROBLEM, needs=("eval_*", "eval/*", "grad_norm", "learning_rate"), symptom_of=("RLX017", "NUM006"))
class HeldOutStands:
    """Evaluations of one result, to the last digit, while gradients live: what is evaluated is not what moves."""

    def __init__(self) -> None:
        self._last: dict[str, Point] = {}
        self._equal: dict[str, int] = {}
        self._moved = self._settled = False
        self._norm, self._rate = 0.0, 1.0

    def update(self, point: Point) -> Optional[Finding]:
        """Take one figure in; a result of an evaluation is compared with that of the one before."""
        name, value = point.name, point.value
        if self._settled or not math.isfinite(value):
            return None
        if name == "grad_norm":
            self._norm = value
        elif name == "learning_rate":
            self._rate = value
        elif not _OF_ANY_RUN.search(name):
            return self._judge(point)
        return None

    def _judge(self, point: Point) -> Optional[Finding]:
        before = self._last.get(point.name)
        self._last[point.name] = point
        if before is None or before.step == point.step:
            return None
        self._settled = before.value != point.value
        if self._settled or not (self._norm > TINY and self._rate > 0):
            return None
        count = self._equal[point.name] = self._equal.get(point.name, 1) + 1
        digits = len(f"{point.value:.12g}".replace(".", "").lstrip("-0"))
        if count < HELD or digits < HELD_DIGITS:
            return None
        self._settled = True
        return found(
            PROBLEM, HELD_OUT, confidence=LIKELY, name=point.name, held=f"{point.value:.6g}", count=count,
            norm=f"{self._norm:.3g}", step=step_text(point.step), **sighting(point),
        )  # fmt: skip

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell no evaluation, and every row once results differ."""
        if self._settled:
            return True
        norms, rates = stretch["grad_norm"], stretch["learning_rate"]
        if any(name.startswith("eval") for name in stretch.columns) or not (norms.finite and rates.finite):
            return False
        self._norm = norms.values[-1] if norms.values else self._norm
        self._rate = rates.values[-1] if rates.values else self._rate
        return True


#: settings that say how many micro batches make a step
_ACCUMULATION = (
    "gradient_accumulation_steps", "grad_accumulation_steps", "accumulation_steps", "grad_accum_steps",
    "accumulate_grad_batches",
)  # fmt: skip
#: how near the ratio of two losses must lie to the setting: evaluation data differs from training data by as much
NEAR_SETTING = 0.1


def of_courses(courses: Courses) -> Optional[Finding]:
    """What needs settings beside the metrics: a mask that leaves no label, a loss that is off by the accumulation."""
    return _unlabelled(courses) or _off_by_accumulation(courses)


#: settings by which only a part of the tokens counts, in TRL and in the programs that call Unsloth
_MASKS = (
    "assistant_only_loss",
    "completion_only_loss",
    "train_on_responses_only",
    "response_template",
    "response_part",
    "mask_prompt",
)
_LENGTHS = ("max_length", "max_seq_length", "cutoff_len", "max_completion_length")


def _is_from_the_beginning(loss: Course) -> bool:
    """Whether the first NaN stands no more than one interval of logging behind the start of the run."""
    if loss.count < 2 or loss.nan_from is None or loss.last_step is None:
        return False
    return loss.nan_from <= 1 + (loss.last_step - loss.nan_from) / (loss.count - 1)


def _unlabelled(courses: Courses) -> Optional[Finding]:
    """A loss that is printed as 0 with a gradient of NaN, from the first step to the last, where labels are masked.

    The mean over no token is 0/0, which the Trainer prints as a loss of 0; the gradient shows it.
    """
    loss, norm = courses.of.get("loss"), courses.of.get("grad_norm")
    masks = [name for name in _MASKS if courses.settings.get(name)]
    if loss is None or not masks or any(name in courses.of for name in _REWARDS):
        return None
    if all(map(math.isnan, (loss.first, loss.last, loss.low))) and _is_from_the_beginning(loss):
        return found(
            PROBLEM, TOML["nan_mask"], confidence=LIKELY, where=Where(file=loss.source, step=loss.last_step),
            count=loss.count, mask=masks[0],
        )  # fmt: skip
    if norm is None or not (loss.low == loss.high == 0 and all(map(math.isnan, (norm.first, norm.last, norm.low)))):
        return None
    length = next((f"{name}={courses.settings[name]}" for name in _LENGTHS if name in courses.settings), "")
    return found(
        PROBLEM, EMPTY_MASK, confidence=LIKELY, where=Where(file=loss.source, step=loss.last_step), count=loss.count,
        mask=masks[0], length=length,
    )  # fmt: skip


def _off_by_accumulation(courses: Courses) -> Optional[Finding]:
    """A loss that is off from the one of an evaluation by just the accumulation that is set."""
    loss, held_out = courses.of.get("loss"), courses.of.get("eval_loss")
    steps = courses.number(*_ACCUMULATION)
    if loss is None or held_out is None or steps is None or any(name in courses.of for name in _REWARDS):
        return None
    if steps < 2 or not loss.last > 0 or not held_out.last > 0:
        return None
    ratio = held_out.last / loss.last
    if min(abs(ratio / steps - 1), abs(ratio * steps - 1)) > NEAR_SETTING:
        return None
    return found(
        PROBLEM, SHARE, confidence=LIKELY, severity=WARNING, where=Where(file=loss.source, step=loss.last_step),
        loss=f"{loss.last:.3g}", evaluation=f"{held_out.last:.3g}", steps=f"{steps:g}", larger=ratio < 1,
    )  # fmt: skip


#: lines that a person quotes, and how far a loss has then fallen that learns
LINES, LEARNT = 3, 0.9
_ENGINE = later(r"(?i)deepspeed|\bfsdp\b|zero-?[123]\b")
_REDUCTION = later(r"reduction\s?=\s?['\"]none['\"]")


def of_quoted(courses: Courses) -> Optional[Finding]:
    """A norm of exactly 0 in all lines shown: cut off where the loss stands, measured wrongly where it falls."""
    norm, loss = courses.always("grad_norm", 0.0, 0.0), courses.of.get("loss")
    if norm is None or loss is None or not courses.excerpt or norm.count < LINES or not loss.low >= LIVING:
        return None
    if any(name in courses.of for name in _REWARDS):
        return None
    where = Where(file=norm.source, step=norm.last_step)
    told: dict[str, Any] = {
        "count": norm.count,
        "first": f"{loss.first:.3g}",
        "loss": f"{loss.last:.3g}",
        "step": step_text(norm.last_step),
    }
    if loss.last == loss.low <= LEARNT * loss.first:
        engine = "DeepSpeed" if _ENGINE.search(courses.words) else ""
        return found(
            PROBLEM, TOML["unmeasured"], confidence=LIKELY, severity=WARNING, where=where, engine=engine, **told
        )
    if reduced := _REDUCTION.search(courses.words):
        return found(PROBLEM, TOML["reduced"], confidence=LIKELY, where=where, reduction=reduced[0], **told)
    return found(PROBLEM, CUT_OFF, confidence=LIKELY, where=where, **told)
