"""Rollouts that a run kept: which files hold them, and what the live rules say of them.

The rules are those that judge a run while it goes on and its log afterwards; the dumps are read into the same metrics,
with examples beside them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.catalogue.finding import Finding
from doctor.catalogue.outcome import Crashed, Skipped
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.checks.witness.rewards_of_failed_episodes import judged as of_episodes
from doctor.checks.witness.trained_tokens_not_sampled import of_record as of_tokens
from doctor.logs.rollouts import jsonl, nemo, parquet, sqlite
from doctor.logs.rollouts.sample import DumpNotReadable, Sample
from doctor.logs.rollouts.steps import MOST_STEPS, Step, steps
from doctor.oracles.episodes import Episodes

#: dumps of evaluations follow other rules: greedy, one answer a prompt, the same prompts each time
_EVALUATION = later(r"(?:^|[_\-.])(?:val|valid|validation|evals?|evaluation|test)(?:[_\-.]|$)", re.IGNORECASE)
#: Trinity-RFT's record of a served model's talks gets its rewards later or never (trinity/explorer/proxy/service.py)
_NO_ROLLOUTS = frozenset({"proxy_history.db"})
_DATABASES = (".db", ".sqlite", ".sqlite3")
_LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.xz")
_EXAMPLES = 2
_WRITERS = {
    "verl": "veRL", "skyrl": "SkyRL", "trinity": "Trinity-RFT", "trl": "TRL", "nemo": "NeMo-RL", "episodes": "episodes",
}  # fmt: skip
#: share of the trained tokens that may have come from elsewhere: an end that was cut off and put back, for one
MOST_STRANGE = 0.01


class _Reader(Protocol):
    unread: int

    def __iter__(self) -> Iterator[Sample]: ...


@dataclass(frozen=True)
class RolloutDump:
    """Files that one run wrote one after the other: `kind` is one of `_WRITERS`."""

    kind: str
    files: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where they lie."""
        return Path(self.files[0]).parent

    @property
    def of_evaluation(self) -> bool:
        """Whether the folder's name says that no training was done on it."""
        return bool(_EVALUATION.search(self.folder.name))


@dataclass
class Judged:
    """What came of one dump."""

    findings: list[Finding] = field(default_factory=list)
    summary: str = ""
    skipped: list[Skipped] = field(default_factory=list)
    crashed: list[Crashed] = field(default_factory=list)


def kind_of(path: Path) -> str:
    """Kind of the rollouts in a file, by name and first bytes; "" for any other file."""
    name = path.name.lower()
    if parquet.NAME.fullmatch(name):
        return "trl"
    if name.endswith(_LINES):
        return jsonl.sniff(path)
    if name.endswith(_DATABASES) and name not in _NO_ROLLOUTS and sqlite.is_database(path):
        try:
            return "trinity" if sqlite.Reader(str(path)).tables() else ""
        except DumpNotReadable:
            return "trinity" if "buffer" in path.parts else ""
    return ""


def dumps(files: Iterable[tuple[Path, str]]) -> list[RolloutDump]:
    """Group (file, kind): a folder's files that are named by step are one dump, every other file is its own."""
    series: dict[tuple[Path, str], list[tuple[int, str]]] = {}
    alone: list[RolloutDump] = []
    for path, kind in files:
        at = _step_named(path)
        if at is None:
            alone.append(RolloutDump(kind, (str(path),)))
        else:
            series.setdefault((path.parent, kind), []).append((at, str(path)))
    ordered = (RolloutDump(kind, tuple(path for _, path in sorted(group))) for (_, kind), group in series.items())
    return [*ordered, *alone]


def _step_named(path: Path) -> int | None:
    """Step in a file's name: veRL's `120.jsonl`, TRL's `completions_00120.parquet`, NeMo-RL's."""
    match = (
        parquet.NAME.fullmatch(path.name)
        or nemo.NAME.fullmatch(path.name)
        or re.fullmatch(r"(\d{1,11})\.jsonl(?:\.\w{2,3})?", path.name)
    )
    return int(match[1]) if match else None


def judge(dump: RolloutDump, rules: Sequence[type] | None = None) -> Judged:
    """Read a dump once, step by step, and let the live rules judge it."""
    told = _Told()
    fit = _fit_for(dump, load_rules() if rules is None else rules)
    engine = RuleEngine(fit)
    for step in told.steps(dump):
        engine.feed_all(step.points())
    engine.close()
    about = _metrics_of(fit)
    findings = [told.with_examples(each, about[each.problem.id]) for each in engine.findings]
    findings += of_episodes(told.episodes, told.last_file or str(dump.folder), None)
    if told.trained and told.strange > MOST_STRANGE * told.trained:
        findings.append(of_tokens(told.strange, told.trained, told.last_file or str(dump.folder)))
    result = Judged(findings, told.summary(dump))
    result.skipped = [Skipped("rollouts", each) for each in told.notes]
    result.crashed = [Crashed(each, error, "") for each, error in engine.crashed.items()]
    return result


def _fit_for(dump: RolloutDump, rules: Sequence[type]) -> list[type]:
    """Evaluations may well decode greedily: what compares the answers to one prompt is no fault there."""
    if not dump.of_evaluation:
        return list(rules)
    grouped = {"completions/identical_ratio", "frac_reward_zero_std"}
    return [each for each in rules if not grouped & set(_needs(each))]


def _needs(rule: type) -> tuple[str, ...]:
    needs: tuple[str, ...] = vars(rule)["__doctor_rule__"][1]
    return needs


def _metrics_of(rules: Iterable[type]) -> dict[str, set[str]]:
    """Problem -> metrics that its rules look at."""
    found: dict[str, set[str]] = {}
    for each in rules:
        found.setdefault(vars(each)["__doctor_rule__"][0].id, set()).update(_needs(each))
    return found


class _Told:
    """What is kept of the steps while they pass: sentences, examples, ends, and what could not be read."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.episodes = Episodes()
        self.last_file = ""
        self.answers = self.count = self.unread = 0
        self.trained = self.strange = 0
        self.first: Step | None = None
        self.last: Step | None = None
        self._kept: dict[int | None, tuple[Observed, dict[str, Observed]]] = {}

    def steps(self, dump: RolloutDump) -> Iterator[Step]:
        """Steps of all files, one after the other; a file that cannot be read costs only itself."""
        for step in steps(itertools.chain.from_iterable(self._samples(dump, each) for each in dump.files)):
            self._keep(step)
            yield step

    def _samples(self, dump: RolloutDump, path: str) -> Iterator[Sample]:
        reader = _reader(dump.kind, path)
        try:
            for sample in reader:
                if sample.episode is not None:
                    self.episodes.add(sample.episode)
                    self.last_file = path
                if sample.scored is not None:
                    self.trained += sample.scored.trained
                    self.strange += sample.scored.strange
                yield sample
        except DumpNotReadable as error:
            if not any(str(error) in each for each in self.notes):
                self.notes.append(f"`{path}`: {error}")
        self.notes += [f"`{path}`: {each}" for each in getattr(reader, "notes", ())]
        if reader.unread and dump.kind == "trinity" and isinstance(reader, sqlite.Reader):
            self.notes.append(f"`{path}`: the answers' text is stored in pickles, which are not opened")
        elif reader.unread:
            self.unread += reader.unread

    def _keep(self, step: Step) -> None:
        self.answers += step.answers
        self.count += 1
        self.first = self.first or _ends_of(step)
        self.last = _ends_of(step)
        if step.step not in self._kept and len(self._kept) < MOST_STEPS:
            self._kept[step.step] = (Observed.quoted(step.file, step.sentence(), step.line), step.examples)

    def with_examples(self, finding: Finding, about: set[str]) -> Finding:
        """The finding with the sentence on its step and examples of the metrics it is about."""
        kept = self._kept.get(finding.where.step)
        if kept is None:
            return finding
        sentence, examples = kept
        fitting = [each for name, each in examples.items() if name in about] or list(examples.values())
        shown = {(each.source, each.line): each for each in reversed(fitting)}  # one a row: what is said first of it
        return replace(finding, evidence=(*finding.evidence, sentence, *list(reversed(shown.values()))[:_EXAMPLES]))

    def summary(self, dump: RolloutDump) -> str:
        """The dump in one clause."""
        if self.first is None or self.last is None:
            return ""
        whose = _WRITERS[dump.kind]
        of = "evaluation" if dump.of_evaluation else "rollouts"
        portions = "portions" if self.last.step is None else "steps"
        text = f"{self.answers:,} answers of {self.count:,} {portions} ({whose} {of})"
        if self.first.reward.count and self.last.reward.count:
            text += f", reward {self.first.reward.value:.3g} to {self.last.reward.value:.3g}"
        return text + (f", {self.unread:,} lines not read" if self.unread else "")


def _ends_of(step: Step) -> Step:
    """A step without its groups and examples, fit to be kept."""
    return replace(step, groups={}, examples={})


def _reader(kind: str, path: str) -> _Reader:
    if kind == "trinity" and path.lower().endswith(_DATABASES):
        return sqlite.Reader(path)
    return parquet.Reader(path) if path.endswith(".parquet") else jsonl.Reader(path)
