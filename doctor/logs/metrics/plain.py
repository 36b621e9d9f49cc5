"""Metrics that a loop of one's own prints in plain words: `epoch 1 step 20 loss 4.6902 lr 2.0e-03`.

There is no notation to go by, only words that leave little doubt and come again: a name of the vocabulary with a number
behind it, or a framework's own name of a metric (`policy/rollout_train_logprobs_abs_diff_mean 0.87`), in three lines at
least. A log is read so where nothing else in it is known as metrics. Of a log of gigabytes
these are the lines of its beginning and its end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from doctor.base.patterns import later
from doctor.catalogue.columns import MetricRow
from doctor.catalogue.metric_words import by_words
from doctor.catalogue.series import ALIASES
from doctor.logs.lines.prefixes import strip
from doctor.logs.metrics.names import shared

#: lines with one metric that make it one; what comes less often may be prose
_LEAST = 3
#: no line of metrics in words is longer, no log has more of them that are read, or as many others before the first
_LONGEST, _MOST_ROWS, _TRIED = 400, 200_000, 1_000
#: one of these is in every line that is read, in lower case: looking for words is many times as fast
_HINTS = ("loss", "reward", "fingerprint", "checksum", "accuracy", "rss")
_FIGURE = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d{1,3})?|[-+]?(?:nan|inf)"
_HELD_OUT = r"(?:eval(?:uation)?|val|valid(?:ation)?|dev|test|held[ -]?out)"
#: where a value was taken, between its name and the value: `eval loss at the start: 6.4`
_WHEN = r"(?: (?:at|before|after|the|start|end|beginning|training|it)){1,4}"
#: behind a name a figure stands close by
_FOLLOWED = later(r"[^\d]{0,60}?(?:\d|nan|inf)")
#: what a metric is called -> its canonical name
_WORDS = (
    (rf"{_HELD_OUT}[ _/-]loss", "eval_loss"),
    (rf"{_HELD_OUT}[ _/-]acc(?:uracy)?", "eval_accuracy"),
    (rf"{_HELD_OUT}[ _/-](?:mean )?reward", "eval_reward"),
    (r"(?:(?:train(?:ing)?|mean|avg|average)[ _/-])?loss", "loss"),
    (r"(?:(?:train(?:ing)?|mean|avg|average)[ _/-])?reward(?:[ _/-]mean)?", "reward"),
    (r"lr|learning[ _]rate", "learning_rate"),
    (r"(?:grad(?:ient)?[ _]?norm|gnorm)", "grad_norm"),
    (r"kl", "kl"),
    (r"approx[_ ]?kl", "policy_drift"),
    (r"(?:pg[_ ]?)?clip[_ ]?frac(?:tion)?", "clip_ratio/region_mean"),
    (r"reward[ _/-]std", "reward_std"),
    (r"entropy", "entropy"),
    (r"(?:(?:param(?:eter)?s?|weights?)[ _])?(?:fingerprint|checksum)", "weights/fingerprint"),
    (r"rss(?:[ _](?:mib|mb|gib|gb))?", "memory/rss"),
)
_NAMES = tuple(name for _, name in _WORDS)
_PAIR = later(
    rf"(?:{'|'.join(f'(?P<n{at}>{words})' for at, (words, _) in enumerate(_WORDS))})"
    # a whole number behind blanks alone may be a count: `reward 5 users`
    rf"(?:{_WHEN})?(?:\s{{0,3}}[:=]\s{{0,4}}|\s{{1,4}}(?![-+]?\d{{1,30}}(?![.e\d])))(?P<value>{_FIGURE})(?![\w%/])(?!\.\w)"
)
#: a name with the parts that frameworks give theirs
_FULL = later(
    rf"(?<![\w./])(?P<name>[a-z]\w{{0,40}}(?:/[\w@.\-]{{1,60}}){{1,3}}?)['\"]?(?:\s{{0,3}}[:=]\s{{0,4}}|\s{{1,4}})"
    rf"(?P<value>{_FIGURE})(?![\w%/])(?!\.\w)"
)
#: what stands right before a name that is only the end of another
_INSIDE = "./-'\"_"
_STEP = later(
    r"\b(?:(?:global|train(?:ing)?|optimi[sz]er)[ _])?(?:step|iter(?:ation)?|update)\b\s{0,2}[:=#]?\s{0,2}"
    r"(?P<step>\d{1,9})\b|\[(?P<of>\d{1,9}) ?/ ?\d{1,9}\]"
)
_EPOCH = later(r"\bepoch\b\s{0,2}[:=#]?\s{0,2}\[?(?P<epoch>\d{1,6})(?![.\d])")
#: a rank alone in brackets, before a line that tells its step besides
_RANK = later(r"^(?:\d\d:\d\d:\d\d(?:[.,]\d{1,6})? )?\[(?P<rank>\d{1,5})\] ")
#: a line of settings has these as well; one of metrics has one of the others
_SETTINGS_TOO = frozenset({"learning_rate", "kl"})


class _Line(NamedTuple):
    """One line that may tell metrics: the step and epoch that it names, the rank before it, names and values."""

    number: int
    rank: int | None
    t_ns: int | None
    step: int | None
    epoch: int | None
    told: dict[str, float]


def read(path: str, lines: Sequence[tuple[int, str]], year: int) -> list[MetricRow]:
    """Metrics of the lines of one log, in order; none where no metric is told in three lines or more.

    Args:
        path: of the log.
        lines: (number, text), the number from 1.
        year: completes stamps that leave it out.

    """
    whole = "\n".join([text for _, text in lines]).lower()
    hints = tuple(hint for hint in _HINTS if hint in whole)
    if not hints:
        return []
    if not any(_line(number, text, year, hints) for number, text in _some(lines, hints)):
        return []
    found = [line for number, text in lines if (line := _line(number, text, year, hints)) is not None][:_MOST_ROWS]
    counts = Counter(name for line in found for name in line.told)
    known = {name for name, count in counts.items() if count >= _LEAST}
    if not known - _SETTINGS_TOO:
        return []
    told = [line._replace(told={name: line.told[name] for name in line.told if name in known}) for line in found]
    told = _ranked([line for line in told if line.told.keys() - _SETTINGS_TOO])
    return [
        MetricRow(
            step, shared(tuple(line.told)), tuple(line.told.values()), line.t_ns, line.rank, f"{path}:{line.number}"
        )
        for line, step in zip(told, _steps(told), strict=True)
    ]


def _line(number: int, text: str, year: int, hints: tuple[str, ...]) -> _Line | None:
    low = text.lower() if len(text) <= _LONGEST else ""
    if not any(hint in low and _FOLLOWED.match(low, low.find(hint)) for hint in hints) or "{" in low:
        return None
    head = strip(text)
    low = head.text.lower()
    told: dict[str, float] = {}
    for match in _PAIR.finditer(low):
        if _begins(low, match.start()):
            told.setdefault(_name(match), float(match["value"]))
    if told:
        for match in _FULL.finditer(low):
            if name := _known(match["name"]):
                told.setdefault(name, float(match["value"]))
    else:
        return None
    step, epoch, rank = _STEP.search(low), _EPOCH.search(low), head.rank
    if rank is None and (step or epoch) and (alone := _RANK.match(low)):
        rank = int(alone["rank"])
    place = int(step["step"] or step["of"]) if step else None
    return _Line(number, rank, head.time_ns(year), place, int(epoch["epoch"]) if epoch else None, told)


def _some(lines: Sequence[tuple[int, str]], hints: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The first lines of a log that may tell metrics: where none of so many does, the others are prose as well."""
    worth = (each for each in lines if any(hint in each[1].lower() for hint in hints))
    return islice(worth, _TRIED)


def _begins(text: str, at: int) -> bool:
    """Whether a name begins at a position: a word before it says that it is another loss, as in `aux loss 0.1`."""
    before = text[max(0, at - 2) : at]
    if before[-1:].isalnum() or before[-1:] in tuple(_INSIDE):
        return False
    return not (before[-1:] == " " and before[:1].isalpha())


def _known(name: str) -> str:
    """The canonical name of a framework's own one, "" where it is none."""
    known = ALIASES.get(name) or by_words(name)
    return known if known != name else ""


def _name(match: re.Match[str]) -> str:
    """The canonical name of the words that matched."""
    return next(name for at, name in enumerate(_NAMES) if match[f"n{at}"])


def _ranked(lines: list[_Line]) -> list[_Line]:
    """The same without ranks where the number before a line is none: one that hardly ever comes again counts lines."""
    ranks = Counter(line.rank for line in lines if line.rank is not None)
    return [line._replace(rank=None) for line in lines] if 2 * len(ranks) > sum(ranks.values()) else lines


def _steps(lines: Sequence[_Line]) -> Iterator[int | None]:
    """The step of each line: what it tells, counted on where each epoch begins anew; the epoch where no line tells one.

    A line that tells none stands at the last step before it, as an evaluation at the end of an epoch does.
    """
    by_step = any(line.step is not None for line in lines)
    last: dict[int | None, tuple[int, int, int | None]] = {}  # rank -> steps of epochs before, last step, its epoch
    for line in lines:
        own = line.step if by_step else line.epoch
        before, at, epoch = last.get(line.rank, (0, 0, None))
        if own is not None:
            anew = by_step and None not in (line.epoch, epoch) and line.epoch != epoch and before + own < at
            before, at = (at, at + own) if anew else (before, before + own)
        last[line.rank] = before, at, line.epoch if line.epoch is not None else epoch
        yield at if own is not None or by_step else None
