"""Metrics of a short excerpt that is written in no notation of a known trainer: `step 20/100 | loss 1.2 | lr 0.0`.

People quote three lines of their own loop, or the half of a dict that matters. What the one pass over a log takes for
metrics has to be sure and quick; here a few lines are read with care, and only where nothing else was found in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.catalogue.columns import MetricRow
from doctor.catalogue.metric_words import by_words
from doctor.catalogue.series import ALIASES
from doctor.logs.metrics.names import shared
from doctor.logs.metrics.wanted import is_wanted

#: longer logs are those of a program, whose notation is known or is none of metrics
MOST_LINES = 60
_LONGEST = 2_000
_FIGURE = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?|[-+]?(?:nan|inf|NaN|Inf)"
_NUMBER = later(_FIGURE)
#: what is between two cells, and the line below a heading
_BETWEEN = later(r"\s*\|\s*|\t+| {2,}")
_RULED = later(r"[\s|:+\-=]+")
_LEAST_CELLS = 3
_PAIR = later(rf"['\"]?(?P<name>[A-Za-z][\w./@\-]{{0,80}})['\"]?\s{{0,2}}[:=]\s{{0,2}}(?P<value>{_FIGURE})(?![\w.%])")
_CELL = later(rf"^\s*(?P<name>[A-Za-z][\w ./\-]{{0,40}}?)\s+(?P<value>{_FIGURE})\s*$")
#: `advantages stats: min=-2, max=3`: what the statistics of a line are of
_SUBJECT = later(
    r"(?i)\b(?P<of>advantages?|rewards?|entropy)(?: stat(?:s|istics))?\s{0,2}[:=(]\s{0,2}(?=min|max|mean|std|avg)"
)
_STATISTICS = frozenset({"min", "max", "mean", "avg", "std"})
#: a value with what it was measured under behind it
LABELLED = later(
    rf"^\s*['\"]?(?P<name>[A-Za-z][\w./@\-]{{0,80}})['\"]?\s{{0,2}}[:=]\s{{0,2}}(?P<value>{_FIGURE})"
    r"\s{0,3}\((?P<label>[A-Za-z][^()\n]{1,60})\)\s*$"
)
_STEP = later(
    r"\b(?:(?:global|train(?:ing)?)[ _]?)?(?:[Ss]tep|[Ii]ter(?:ation)?|[Rr]ollout)['\"]?\s{0,2}[:=]?\s{0,2}"
    r"(?P<step>\d{1,9})"
    r"(?:\s?/\s?(?P<all>\d{1,9}))?"
)
_NAMES = {
    "train_loss": "loss", "training_loss": "loss", "training loss": "loss", "train loss": "loss", "Train loss": "loss",
    "val_loss": "eval_loss", "validation_loss": "eval_loss", "validation loss": "eval_loss", "eval loss": "eval_loss",
    "Val loss": "eval_loss", "gradient norm": "grad_norm", "gnorm": "grad_norm",
}  # fmt: skip
#: a line of settings has these as well; one of metrics has one of the others
_SETTINGS_TOO = frozenset({"learning_rate", "kl", "step_time", "loss_scale"})
#: TRL's PPO logs what it measures under this head (https://huggingface.co/docs/trl/v0.7.11/logging); no setting has it
_OBJECTIVE = "objective/"


class Excerpt(NamedTuple):
    """Rows of an excerpt, and how many steps the run is to have, None where it does not say."""

    rows: list[MetricRow]
    total: int | None


def read(path: str, lines: Sequence[tuple[int, str]]) -> Excerpt:
    """Metrics of the lines of one log, in order."""
    rows: list[MetricRow] = []
    total: int | None = None
    heads: list[str] = []
    for number, text in lines[:MOST_LINES]:
        cells = _cells(text[:_LONGEST])
        if len(cells) >= _LEAST_CELLS and not any(_NUMBER.fullmatch(each) for each in cells):
            heads = [_name(each) for each in cells] if not _RULED.fullmatch(text) else heads
        row = _row(path, number, text[:_LONGEST]) or _of_table(path, number, heads, cells)
        if row is not None:
            rows.append(row)
            step = _STEP.search(text)
            total = int(step["all"]) if step and step["all"] else total
    return Excerpt(rows, total)


def _cells(text: str) -> list[str]:
    """The cells of a line of a table: between bars, tabs, or blanks of which there are several."""
    return [each.strip() for each in _BETWEEN.split(text.strip().strip("|")) if each.strip()]


def _of_table(path: str, number: int, heads: Sequence[str], cells: Sequence[str]) -> MetricRow | None:
    """A row of numbers below the heading of a table, as notebooks show the metrics of a Trainer."""
    if not heads or len(cells) != len(heads) or not all(_NUMBER.fullmatch(each) for each in cells):
        return None
    told = dict(zip(heads, map(float, cells), strict=True))
    known = {name: value for name, value in told.items() if is_wanted(name)}
    step = told.get("step")
    if not set(known) - _SETTINGS_TOO:
        return None
    place = int(step) if step is not None and step == int(step) else None
    return MetricRow(place, shared(tuple(known)), tuple(known.values()), None, None, f"{path}:{number}")


def _row(path: str, number: int, text: str) -> MetricRow | None:
    told = dict(_pairs(text))
    step = _STEP.search(text)
    known = {name: value for name, value in told.items() if is_wanted(name)}
    measured = set(known) - _SETTINGS_TOO or _OBJECTIVE in text
    if not known or not (step or measured) or ("(" in text and not (step or LABELLED.match(text))):
        return None
    place = int(step["step"]) if step else None
    return MetricRow(place, shared(tuple(known)), tuple(known.values()), None, None, f"{path}:{number}")


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    subject = _SUBJECT.search(text)
    for match in _PAIR.finditer(text):
        name = match["name"]
        yield _name(f"{subject['of']}/{name}" if subject and name in _STATISTICS else name), float(match["value"])
    for cell in text.split("|") if "|" in text else ():
        if told := _CELL.match(cell):
            yield _name(told["name"]), float(told["value"])


def _name(name: str) -> str:
    name = _NAMES.get(name, _NAMES.get(name.lower(), name if name != "Step" else "step"))
    return ALIASES.get(name) or by_words(name)
