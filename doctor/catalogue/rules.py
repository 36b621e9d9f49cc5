"""The engine of the live series: feeds points to the rules of the catalogue and keeps what they find.

The guard feeds it live, the post-mortem from log lines, the report from the run folder. One engine is one run.
Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

from doctor.base.evidence import Observed
from doctor.base.record import replace
from doctor.catalogue.columns import Stretch, points_of
from doctor.catalogue.finding import Finding, Role, Where
from doctor.catalogue.problem import Problem
from doctor.catalogue.series import Point

Update = Callable[[Point], Optional[Finding]]

#: names are the patient's own words: more than this many different ones are no metrics any more
MOST_NAMES = 10_000

#: findings kept of one run; a rule that goes off and recovers for ever must not fill the memory
MOST_FINDINGS = 200


def load_rules(modules: Optional[Iterable[str]] = None) -> list[type]:
    """Rule classes of the catalogue, or of the modules named, in order of module.

    Args:
        modules: dotted names; None: every module of the catalogue that holds a rule, as its index says, or what
            `doctor.readers.patient.carry` has brought along where there is no index.

    """
    modules = _of_the_catalogue() if modules is None else modules
    found = []
    for name in modules:
        members = vars(importlib.import_module(name)).values()
        found += [each for each in members if isinstance(each, type) and "__doctor_rule__" in vars(each)]
    return found


def _of_the_catalogue() -> list[str]:
    carried = Path(__file__).parent.parent / "_carried.json"
    if carried.is_file():
        import json

        return [name for name in json.loads(carried.read_bytes())["modules"] if name.startswith("doctor.checks.")]
    from doctor.catalogue.index import load

    return [entry.module for entry in load() if entry.has_rule]


class _Symptom(NamedTuple):
    """What a rule declared of its causes: their ids, and whether they count whenever they began."""

    of: tuple[str, ...]
    any_time: bool


class _Runner:
    """A rule at work, with what it declared; made when the first point comes that it wants."""

    __slots__ = ("_class", "_rule", "every_rank", "names", "number", "patterns", "problem", "symptom")

    def __init__(self, cls: type, number: int) -> None:
        declared: tuple[Problem, tuple[str, ...], tuple[str, ...], bool] = vars(cls)["__doctor_rule__"]
        self.problem, needs, symptom_of, self.every_rank = declared
        self.symptom = _Symptom(symptom_of, getattr(cls, "doctor_any_time", False))
        self.names = frozenset(each for each in needs if "*" not in each)
        self.patterns = tuple(each.split("*") for each in needs if "*" in each)
        self.number = number
        self._class = cls
        self._rule: Any = None

    @property
    def rule(self) -> Any:
        """The rule itself."""
        if self._rule is None:
            self._rule = self._class()
        return self._rule

    @property
    def begun(self) -> bool:
        """Whether a point that it wants has come."""
        return self._rule is not None

    @property
    def over(self) -> bool:
        """Whether the rule says that no point changes anything any more."""
        return self._rule is not None and getattr(self._rule, "over", False)

    def renew(self) -> None:
        """Forget what the rule has seen."""
        self._rule = None

    def wants(self, name: str) -> bool:
        return name in self.names or any(name.startswith(begin) and name.endswith(end) for begin, end in self.patterns)


#: rows between two looks for rules that are over
_LOOKED_AT = 32

#: rows of the first part of a stretch that is judged anew; each further part is as long as all before it
_BEGINNING = 64


class _New(NamedTuple):
    """A finding with the place of its point in a stretch, and the number of its rule."""

    row: int
    position: int
    runner: int
    finding: Finding


class _Route:
    """Where the points of one metric go: the rules that want it, the rank that told it first, and its last step."""

    __slots__ = ("last_step", "owner", "updates")

    def __init__(self, updates: tuple[tuple[Update, _Runner], ...]) -> None:
        self.updates = updates
        self.owner: Optional[int] = None
        self.last_step: Optional[int] = None


class RuleEngine:
    """Feeds points to rules.

    A rule that raises is left out from then on and named in `crashed` (id -> error): a bug of ours costs the user
    nothing but that rule. When a metric's step goes back (a restart from a checkpoint in the same log), all rules
    begin anew.
    """

    def __init__(self, rules: Optional[Sequence[type]] = None) -> None:
        self._classes = list(load_rules() if rules is None else rules)
        self.crashed: dict[str, str] = {}
        self._found: list[tuple[Finding, _Symptom]] = []
        self._wanted: dict[str, tuple[int, ...]] = {}  # metric -> rules that want it, which outlives a new beginning
        self._runners = [_Runner(cls, number) for number, cls in enumerate(self._classes)]
        self._routes: dict[str, _Route] = {}
        self._rows = 0  # judged in stretches since it began
        self._fed = 0  # rows fed one by one since it began

    def _start(self) -> None:
        for runner in self._runners:
            runner.renew()
        self._routes, self._rows, self._fed = {}, 0, 0

    def feed(self, point: Point) -> list[Finding]:
        """Hand a point to the rules that want it; gives what they found just now, mostly nothing."""
        route = self._routes.get(point[0]) or self._route(point[0])
        return self._hand(point, route) if route.updates else []

    def feed_row(
        self, row: Mapping[str, float], step: Optional[int], t_ns: Optional[int], rank: Optional[int]
    ) -> list[Finding]:
        """Feed what was told together, metric by metric, as `feed` does; rules that are over are not asked again."""
        self._fed += 1
        if self._fed % _LOOKED_AT == 0:
            self._leave_out_over()
        found: list[Finding] = []
        make = tuple.__new__
        for name, value in row.items():
            route = self._routes.get(name) or self._route(name)
            updates = route.updates
            if not updates:
                continue
            point = make(Point, (name, value, step, t_ns, rank, ""))
            if rank != route.owner or step is None or route.last_step is None or step < route.last_step:
                found += self._hand(point, route)
                continue
            route.last_step = step
            for update, runner in updates:  # as in `_hand`, without the call: the training waits for this
                try:
                    finding = update(point)
                except Exception as error:  # noqa: BLE001 - see `_hand`
                    self._leave_out(runner, error)
                    continue
                if finding is not None:
                    found.append(finding)
                    self._keep(finding, runner)
        return found

    def _leave_out_over(self) -> None:
        """Take the rules that say nothing any more off the routes of metrics that were fed."""
        over = {each.number for each in self._runners if each.over}
        for route in self._routes.values():
            if any(runner.number in over for _, runner in route.updates):
                route.updates = tuple(each for each in route.updates if each[1].number not in over)

    def _hand(self, point: Point, route: _Route) -> list[Finding]:
        """Hand a point to rules that want it."""
        _, _, step, _, rank, _ = point
        updates = route.updates
        new: list[Finding] = []
        if rank is not None and rank != route.owner:
            if route.owner is None:
                route.owner = rank
            else:
                updates = tuple(each for each in updates if each[1].every_rank)
        if step is not None and updates is route.updates:
            if route.last_step is not None and step < route.last_step:
                self._start()
                return self.feed(point)
            route.last_step = step
        for update, runner in updates:
            try:
                finding = update(point)
            except Exception as error:  # noqa: BLE001 - whatever a rule raises must not reach the training loop
                self._leave_out(runner, error)
                continue
            if finding is not None:
                new.append(finding)
                self._keep(finding, runner)
        return new

    def feed_all(self, points: Iterable[Point]) -> list[Finding]:
        """Feed many points; gives what the rules found."""
        return [finding for point in points for finding in self.feed(point)]

    def feed_stretch(self, stretch: Stretch) -> None:
        """Feed rows of one rank; rules that say `calm` to them are not asked about each point."""
        if self._goes_on(stretch):
            self._judge_by_parts(stretch)
            return
        for point in points_of(stretch.rows[0]):  # it may be a new beginning, with which the others go on
            self.feed(point)
        if len(stretch.rows) == 1:
            return
        rest = Stretch(stretch.rows[1:])
        if self._goes_on(rest):
            self._judge_by_parts(rest)
        else:
            self.feed_all(point for row in rest.rows for point in points_of(row))

    def _goes_on(self, stretch: Stretch) -> bool:
        """Whether every rule gets these rows as they are: from the rank that it listens to, and no new beginning."""
        rank = stretch.rows[0][4]
        for name, column in stretch.columns.items():
            route = self._routes.get(name) or self._route(name)
            if not route.updates:
                continue
            if rank is not None and route.owner is not None and rank != route.owner:
                return False
            first = next((each for each in column.steps if each is not None), None)
            if first is not None and route.last_step is not None and first < route.last_step:
                return False
        return True

    def _judge_by_parts(self, stretch: Stretch) -> None:
        """Judge a beginning by itself: a rule is calm once its windows are full, and asked about each point before."""
        while len(stretch.rows) > max(_BEGINNING, self._rows) + _BEGINNING:
            first, stretch = stretch.parted(max(_BEGINNING, self._rows))
            self._judge(first)
        self._judge(stretch)

    def _judge(self, stretch: Stretch) -> None:
        self._rows += len(stretch.rows)
        rank = stretch.rows[0][4]
        runners: dict[int, tuple[_Runner, set[str]]] = {}
        for name, column in stretch.columns.items():
            route = self._routes.get(name) or self._route(name)
            for _, runner in route.updates:
                runners.setdefault(runner.number, (runner, set()))[1].add(name)
            if route.updates:
                route.owner = rank if route.owner is None else route.owner
                last = next((each for each in reversed(column.steps) if each is not None), None)
                route.last_step = route.last_step if last is None else last
        asked: dict[str, list[_Runner]] = {}
        for runner, names in runners.values():
            try:
                calm = getattr(runner.rule, "calm", None)
                if not runner.over and (calm is None or not calm(stretch.telling(names))):
                    for name in names:
                        asked.setdefault(name, []).append(runner)
            except Exception as error:  # noqa: BLE001 - see feed
                self._leave_out(runner, error)
        for each in sorted(self._ask(asked, stretch), key=lambda one: one[:3]):
            self._keep(each.finding, self._runners[each.runner])

    def _ask(self, asked: dict[str, list[_Runner]], stretch: Stretch) -> list[_New]:
        """Hand rules the points of a stretch one by one; each point is made once, however many want it."""
        new: list[_New] = []
        make, failed = tuple.__new__, set[int]()
        places: dict[tuple[str, ...], list[tuple[int, str, list[tuple[int, Update]]]]] = {}
        for number, (step, own, values, t_ns, rank, source) in stretch.numbered(asked.keys()) if asked else ():
            wanted = places.get(own)
            if wanted is None:
                wanted = places[own] = [
                    (at, name, [(each.number, each.rule.update) for each in asked[name]])
                    for at, name in enumerate(own)
                    if name in asked
                ]
            for at, name, updates in wanted:
                point = make(Point, (name, values[at], step, t_ns, rank, source))
                for runner, update in updates:
                    if failed and runner in failed:
                        continue
                    try:
                        finding = update(point)
                    except Exception as error:  # noqa: BLE001 - see feed
                        self._leave_out(self._runners[runner], error)
                        failed.add(runner)
                        continue
                    if finding is not None:
                        new.append(_New(number, at, runner, finding))
        return new

    def close(self) -> list[Finding]:
        """Ask each rule for its last word, once the series has ended; it replaces what the rule said before."""
        new = []
        for runner in self._runners:
            finish = getattr(runner.rule, "finish", None)
            if finish is None or runner.problem.id in self.crashed:
                continue
            try:
                finding = finish()
            except Exception as error:  # noqa: BLE001 - see feed
                self._leave_out(runner, error)
                continue
            if finding is not None:
                self._found = [each for each in self._found if each[0].problem.id != finding.problem.id]
                self._keep(finding, runner)
                new.append(finding)
        return new

    @property
    def findings(self) -> list[Finding]:
        """One finding a problem, the worst it came to; causes first, then in order of the step where they began."""
        worst: dict[str, tuple[Finding, _Symptom]] = {}
        for finding, symptom in self._found:
            known = worst.get(finding.problem.id)
            if known is None or finding.severity.rank < known[0].severity.rank:
                worst[finding.problem.id] = (finding, symptom)
        placed = [_with_role(finding, symptom, worst) for finding, symptom in worst.values()]
        return sorted(placed, key=lambda each: (each.role != Role.CAUSE, _began(each), each.severity.rank))

    def waits_for(self, name: str) -> bool:
        """Whether a rule that wants this metric is at work already, for another one."""
        return any(each.begun and each.wants(name) for each in self._runners)

    def metrics_of(self, problem_id: str) -> tuple[str, ...]:
        """Metrics that a problem's rules judge, as declared; one star stands for anything: ``rewards/*``."""
        declared = (vars(each)["__doctor_rule__"] for each in self._classes)
        return tuple(name for problem, needs, *_ in declared if problem.id == problem_id for name in needs)

    def wants(self, name: str) -> bool:
        """Whether a rule judges a metric."""
        return bool(self._wanted_by(name))

    def _keep(self, finding: Finding, runner: _Runner) -> None:
        if len(self._found) < MOST_FINDINGS:
            self._found.append((finding, runner.symptom))

    def _route(self, name: str) -> _Route:
        runners = [self._runners[number] for number in self._wanted_by(name)]
        route = _Route(tuple((each.rule.update, each) for each in runners if each.problem.id not in self.crashed))
        if len(self._routes) < MOST_NAMES:
            self._routes[name] = route
        return route

    def _wanted_by(self, name: str) -> tuple[int, ...]:
        """Numbers of the rules that want a metric."""
        wanted = self._wanted.get(name)
        if wanted is None:
            wanted = tuple(number for number, each in enumerate(self._runners) if each.wants(name))
            if len(self._wanted) < MOST_NAMES:
                self._wanted[name] = wanted
        return wanted

    def _leave_out(self, runner: _Runner, error: Exception) -> None:
        self.crashed[runner.problem.id] = f"{type(error).__name__}: {error}"
        for route in self._routes.values():
            route.updates = tuple(each for each in route.updates if each[1].problem.id not in self.crashed)


def _began(finding: Finding) -> int:
    return finding.where.step or 0


def _with_role(finding: Finding, symptom: _Symptom, found: dict[str, tuple[Finding, _Symptom]]) -> Finding:
    causes = (found[each][0] for each in symptom.of if each in found)
    earlier = any(symptom.any_time or _began(each) <= _began(finding) for each in causes)
    return replace(finding, role=Role.SYMPTOM) if earlier else finding


def sighting(point: Point, began: Optional[int] = None, text: str = "") -> dict[str, Any]:
    """`where` and `evidence` of a finding about a point, for ``found(..., **sighting(point))``.

    Args:
        point: the point at which the rule was sure.
        began: step at which it began; the point's own where None.
        text: what to quote; name and value of the point where empty.

    """
    file, _, line = point.source.rpartition(":")
    if not line.isdigit():
        file, line = point.source, ""
    number = int(line) if line else None
    step = point.step if began is None else began
    quote = text or f"{point.name} = {point.value:g}" + ("" if point.step is None else f" at step {point.step}")
    return {
        "where": Where(file=file or None, line=number, rank=point.rank, step=step),
        "evidence": (Observed.quoted(file or "metrics", quote, number),),
    }


def step_text(step: Optional[int]) -> str:
    """A step for a headline; a question mark where the series tells none."""
    return "?" if step is None else str(step)
