"""From answers to figures by step: the points that the live rules judge, a sentence on each step, and examples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from doctor.base.evidence import Observed
from doctor.base.redact import redact_text
from doctor.catalogue.series import Point
from doctor.logs.rollouts.sample import Sample, loop_of

#: groups of one step that are followed; no batch has more prompts
MOST_GROUPS = 50_000
#: reward functions and figures followed by name
MOST_PARTS = 64
#: steps of which a sentence and examples are kept
MOST_STEPS = 5_000
_SHOWN_CHARS = 240
#: equal answers to one prompt before they count as copies
_COPIES = 3
#: rows without any step are judged in portions of this size
PORTION = 512

REWARD, UNREWARDED = "reward", "completions/unrewarded_ratio"
EMPTY, LOOPING, SAME = "completions/empty_ratio", "completions/looping_ratio", "completions/identical_ratio"
GAP, RATIO = "sampling/sampling_logp_difference/mean", "sampling/probability_error"
CHARACTERS, CUT_OFF, TOKENS = "completions/mean_characters", "completions/clipped_ratio", "completions/mean_length"


@dataclass(slots=True)
class _Group:
    """The answers to one prompt within a step."""

    run: object
    low: float
    high: float
    text: int | None
    count: int = 1
    runs: bool = False  # several attempts, so that a difference could have been
    same: bool = True  # all answers are the same text
    deviates: bool | None = None

    @property
    def equal(self) -> bool:
        """Whether nothing can be learned from it; what the trainer made of the rewards decides where it is told."""
        return self.low == self.high if self.deviates is None else not self.deviates

    def add(self, sample: Sample, reward: float, text: int | None) -> None:
        self.count += 1
        self.runs = self.runs or sample.run is None or sample.run != self.run
        self.low, self.high = min(self.low, reward), max(self.high, reward)
        self.same = self.same and text is not None and text == self.text


class _Mean:
    """Sum and count of what is finite; `value` is NaN where nothing is."""

    __slots__ = ("count", "missing", "squares", "total")

    def __init__(self) -> None:
        self.total = self.squares = 0.0
        self.count = self.missing = 0

    def add(self, value: float) -> None:
        if math.isfinite(value):
            self.total += value
            self.squares += value * value
            self.count += 1
        else:
            self.missing += 1

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else math.nan

    @property
    def deviation(self) -> float:
        """Standard deviation; exactly 0 is told by the extremes, for sums of squares round."""
        if not self.count:
            return math.nan
        return math.sqrt(max(0.0, self.squares / self.count - self.value * self.value))


@dataclass
class Step:
    """What one step's answers add up to."""

    step: int | None
    file: str
    line: int
    answers: int = 0
    told: int = 0  # answers that were stored as text
    reward: _Mean = field(default_factory=_Mean)
    low: float = math.inf
    high: float = -math.inf
    parts: dict[str, _Mean] = field(default_factory=dict)
    groups: dict[object, _Group] = field(default_factory=dict)
    characters: int = 0
    empty: int = 0
    looping: int = 0
    cut_off: _Mean = field(default_factory=_Mean)
    tokens: _Mean = field(default_factory=_Mean)
    scored: int = 0
    gaps: float = 0.0
    ratios: float = 0.0
    examples: dict[str, Observed] = field(default_factory=dict)

    def add(self, sample: Sample) -> None:
        """Take one answer in."""
        self.answers += 1
        reward = math.nan if sample.reward is None else sample.reward
        if sample.reward is not None:
            self.reward.add(reward)
            if math.isfinite(reward):
                self.low, self.high = min(self.low, reward), max(self.high, reward)
            else:
                self._example(UNREWARDED, sample, "no usable reward")
        for name, value in sample.parts.items():
            if name in self.parts or len(self.parts) < MOST_PARTS:
                self.parts.setdefault(name, _Mean()).add(value)
        if sample.truncated is not None:
            self.cut_off.add(float(sample.truncated))
        if sample.tokens is not None:
            self.tokens.add(float(sample.tokens))
        if sample.scored is not None:
            self.scored += sample.scored.scored
            self.gaps += sample.scored.gap * sample.scored.scored
            self.ratios += sample.scored.ratio * sample.scored.scored
        self._text(sample)
        self._group(sample, reward)

    def _text(self, sample: Sample) -> None:
        text = sample.text
        if text is None:
            return
        self.told += 1
        self.characters += len(text)
        if not text.strip():
            self.empty += 1
            self._example(EMPTY, sample, "empty answer")
        elif (piece := loop_of(text)) is not None:
            self.looping += 1
            self._example(LOOPING, sample, f"ends by repeating {_shown(piece, 80)}")
        self._example(REWARD, sample, "")

    def _group(self, sample: Sample, reward: float) -> None:
        if sample.group is None:
            return
        text = None if sample.text is None else hash(sample.text)
        known = self.groups.get(sample.group)
        if known is None:
            if len(self.groups) < MOST_GROUPS:
                self.groups[sample.group] = _Group(sample.run, reward, reward, text, deviates=sample.deviates)
            return
        known.add(sample, reward, text)
        if sample.deviates is not None:
            known.deviates = known.deviates or sample.deviates
        if known.same and known.count == _COPIES:
            self._example(SAME, sample, "the same answer several times")

    def _example(self, name: str, sample: Sample, what: str) -> None:
        if name not in self.examples:
            said = "" if sample.text is None else _shown(sample.text, _SHOWN_CHARS)
            reward = "" if sample.reward is None else f"reward {sample.reward:g}"
            text = "; ".join(each for each in (reward, what, said) if each)
            self.examples[name] = Observed.quoted(sample.file, text, sample.line)

    @property
    def judged(self) -> list[_Group]:
        """Groups of several attempts."""
        return [each for each in self.groups.values() if each.count > 1 and each.runs]

    def points(self) -> Iterator[Point]:
        """The step as metrics, under the names that the live rules know."""
        for name, value in self._figures():
            yield Point(name, value, self.step, source=f"{self.file}:{self.line}")

    def _figures(self) -> Iterator[tuple[str, float]]:
        for name, part in self.parts.items():
            yield f"rewards/{name}/mean", part.value
        groups = self.judged
        if groups:
            yield "frac_reward_zero_std", sum(each.equal for each in groups) / len(groups)
        if self.reward.count or self.reward.missing:
            yield "reward_std", 0.0 if self.low == self.high else self.reward.deviation
            yield UNREWARDED, self.reward.missing / (self.reward.missing + self.reward.count)
            yield REWARD, self.reward.value
        if self.told:
            yield EMPTY, self.empty / self.told
            yield LOOPING, self.looping / self.told
            yield CHARACTERS, self.characters / self.told
            if groups:
                yield SAME, sum(each.same and each.count >= _COPIES for each in groups) / len(groups)
        if self.cut_off.count:
            yield CUT_OFF, self.cut_off.value
        if self.tokens.count:
            yield TOKENS, self.tokens.value
        if self.scored:
            yield GAP, self.gaps / self.scored
            yield RATIO, self.ratios / self.scored

    def sentence(self) -> str:
        """The step in one line, for the evidence."""
        groups = self.judged
        equal = sum(each.equal for each in groups)
        parts = [f"{'these rows' if self.step is None else f'step {self.step}'}: {self.answers} answers"]
        if self.reward.count:
            parts.append(f"reward {self.reward.value:.3g} ({self.low:.3g} to {self.high:.3g})")
        parts += [f"{self.reward.missing} without a usable reward"] if self.reward.missing else []
        parts += [f"{equal} of {len(groups)} groups with one reward"] if groups else []
        parts += [f"mean length {self.characters / self.told:.0f} characters"] if self.told else []
        parts += [f"{self.empty} empty"] if self.empty else []
        parts += [f"{self.looping} that end in a loop"] if self.looping else []
        return ", ".join(parts)


def steps(samples: Iterable[Sample]) -> Iterator[Step]:
    """Group a stream of answers by step; only one step is held at a time.

    A step that goes back (rows of two writers between each other) counts to the step before. Rows without a step make
    portions of `PORTION`.
    """
    current: Step | None = None
    for sample in samples:
        if current is not None and _ends(current, sample):
            yield current
            current = None
        if current is None:
            current = Step(sample.step, sample.file, sample.line)
        current.add(sample)
    if current is not None:
        yield current


def _ends(current: Step, sample: Sample) -> bool:
    if current.step is None or sample.step is None:
        return current.answers >= PORTION or (current.step is None) != (sample.step is None)
    return sample.step > current.step


def _shown(text: str, size: int) -> str:
    """A quotation: redacted, on one line, its beginning and its end.

    What is redacted reaches far beyond what is shown, so that no half of a secret stands at an edge.
    """
    if len(text) > 8 * size:
        text = f"{text[: 4 * size]} {text[-4 * size :]}"
    text = " ".join(redact_text(text).split())
    if len(text) > size:
        half = (size - 5) // 2
        text = f"{text[:half]} ... {text[-half:]}"
    return f"{text!r}"
