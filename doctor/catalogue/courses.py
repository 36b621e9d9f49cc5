"""Metrics of a whole run beside its settings and beside what a person says of another run: facts for laws over them.

A rule (`doctor.catalogue.series`) sees values as they come and no settings. What needs both, the length of a run, or
the same metric elsewhere, is judged when all of it is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

from doctor.base.evidence import Observed
from doctor.base.record import record

#: values of an excerpt by which a metric is seen to go somewhere, and those by which rules over windows see it better
_QUOTED, FEW = 3, 12
#: among settings: the programs and classes that are named, one behind another
PROGRAM = "the program"


#: veRL's names of the sizes of a batch and of an update, and of the rounds over a batch
_BATCH, _UPDATE, _EPOCHS = "train_batch_size", "ppo_mini_batch_size", "ppo_epochs"


@record
class Course:
    """One metric of a run: how many values, which of them, and where they stand.

    `mean` is that of the points kept for a plot: exact up to some hundred values, and near it beyond. `leap` is the
    largest rise from one of them to the next, `nan_from` the step of the first NaN, or its number where no step is
    told. `early` and `late` are means of its first and last third, and `rise` says by how many standard errors they lie
    apart (`doctor.logs.metrics.gain.rise`); 0 of fewer than three values.
    """

    name: str
    count: int
    first: float
    last: float
    low: float
    high: float
    mean: float
    last_step: int | None
    source: str
    leap: float = 0.0
    nan_from: int | None = None
    early: float = math.nan
    late: float = math.nan
    rise: float = 0.0


@record
class Compared:
    """What a person says of the same metric in another run.

    Args:
        metric: canonical name.
        other: what differs there, in the person's words: "zero3", "deepspeed<0.17.6".
        here, there: the values.
        evidence: the sentence.
        against: the heading of this run, where two sections of one text are set side by side.
        loss_agrees: a gradient, whose loss is the same in both.

    """

    metric: str
    other: str
    here: float
    there: float
    evidence: Observed
    against: str = ""
    loss_agrees: bool = False


@record
class Anew:
    """A run that was to go on from a checkpoint and begins from nothing.

    Args:
        line: the line that names the checkpoint.
        losses: how many of its first losses are those of the log's first run, digit for digit; 0 where its first step
            is told once more.

    """

    line: Observed
    losses: int


@record
class Courses:
    """All metrics of a run that rules judge or reports draw.

    A file under ``checks/rl/``, ``checks/numerics/`` or ``checks/checkpoint/`` declares
    ``of_courses(courses: Courses) -> Finding | None``, or ``of_quoted`` for what a few lines show, which is told where
    nothing else says why.

    Args:
        of: by canonical name.
        settings: by their own names and, where that is no other's, the last part of a dotted one; values as read.
        total: steps that the run is to have.
        compared: what is said of other runs.
        versions: of distributions, as the log and its context tell them.
        excerpt: a person quotes a few lines from the middle of a run: what they show is the trouble, so that a level
            may be judged of as few values as there are.
        anew: where a run begins from nothing although it names a checkpoint.
        words: of an excerpt: all that it and what a person says beside it hold; "" for a whole log.

    """

    of: Mapping[str, Course]
    settings: Mapping[str, object]
    total: int | None = None
    compared: tuple[Compared, ...] = ()
    excerpt: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    anew: Anew | None = None

    def always(self, name: str, low: float, high: float) -> Course | None:
        """The metric, where all of its values lie within these bounds."""
        course = self.of.get(name)
        return course if course is not None and low <= course.low and course.high <= high else None

    def rose(self, name: str, times: float, to: float) -> Course | None:
        """A metric that an excerpt shows to end at its peak: this many times its first value, and no less than `to`.

        Whoever quotes a few lines quotes those that show the trouble, so that a rule that waits for its window would
        never speak of them.
        """
        course = self.of.get(name) if self.excerpt else None
        if course is None or not _QUOTED <= course.count <= FEW or not course.first == course.low >= 0:
            return None
        return course if course.last == course.high >= max(to, times * course.first) else None

    def fell(self, name: str, share: float) -> Course | None:
        """A metric that an excerpt shows to end at its lowest, at this share of its first and highest value or less."""
        course = self.of.get(name) if self.excerpt else None
        if course is None or not _QUOTED <= course.count <= FEW or not course.first == course.high > 0:
            return None
        return course if course.last == course.low <= share * course.first else None

    def number(self, *names: str) -> float | None:
        """The first of these settings that is a number."""
        return next((told for name in names if (told := _number(self.settings.get(name))) is not None), None)


def updates_a_batch(settings: Mapping[str, object]) -> float | None:
    """How many updates the settings make of a batch; None where they do not tell.

    >>> updates_a_batch({"train_batch_size": 128, "ppo_mini_batch_size": 64}), updates_a_batch({"ppo_epochs": 2})
    (2.0, None)
    """
    batch, update, epochs = (_number(settings.get(name)) for name in (_BATCH, _UPDATE, _EPOCHS))
    return batch / update * (epochs or 1.0) if batch and update else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
