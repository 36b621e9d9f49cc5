"""The plans that can be offered: made for what the checks have read, and tried before they are shown."""

from __future__ import annotations

from doctor.base.record import record
from doctor.catalogue.finding import Finding
from doctor.catalogue.fix import fixable, load_fix
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Outcome
from doctor.catalogue.plan import Contents, Plan, Refused, Run, Safety, contents, digest, variables
from doctor.diagnosis.rejudge import Rejudged, Supposed, rejudge
from doctor.readers.collector import Collector


@record
class Judged:
    """What was judged: the catalogue, what its checks said, and the facts."""

    entries: tuple[Entry, ...]
    outcome: Outcome
    collector: Collector


@record
class Offer:
    """A plan with the contents that it is for and leads to.

    Args:
        plan: what would be done.
        contents: real path -> file before and after.
        verdict: what the checks say of the inputs as they would be; None where that cannot be tried (a command is run,
            or no fact was read from what changes).

    """

    plan: Plan
    contents: Contents
    verdict: Rejudged | None

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the plan.

        A safe plan changes nothing that is computed: what is found after it stood behind the problem all the time.
        """
        if self.verdict is None or self.verdict.holds:
            return True
        return self.plan.safety is Safety.SAFE and not (self.verdict.left or self.verdict.unseen)

    @property
    def uncovered(self) -> tuple[Finding, ...]:
        """What is found once a safe plan is carried out, and could not be before."""
        return self.verdict.new if self.verdict is not None and self.holds else ()


def offer(entry: Entry, judged: Judged) -> Offer | None:
    """The plan for a problem that was found, or that is planned from facts alone; None where there is none.

    Raises:
        LookupError: a fact that the plan needs could not be seen; the message says why.
        Refused: a file does not hold what was found in it.
        OSError: a file cannot be read.

    """
    fix = load_fix(entry)
    findings = tuple(each for each in judged.outcome.findings if each.problem.id == entry.id)
    if fix is None or (fix.findings is not None and not findings):
        return None
    judged.collector.ask(name for name, _ in fix.facts.values())
    plan = fix.plan(findings, judged.collector.states)
    if plan is None:
        return None
    made = contents(plan)
    _refuse_other(made, judged.collector)
    return Offer(plan, made, _tried(plan, made, judged))


def offered(judged: Judged) -> frozenset[str]:
    """Ids of the problems found whose plan exists, fits what is there, and does what it is for."""
    found = {each.problem.id for each in judged.outcome.findings}
    entries = [each for each in judged.entries if each.id in found]
    return frozenset(each.id for each in entries if each.id in fixable(entries) and _is_sound(each, judged))


def _is_sound(entry: Entry, judged: Judged) -> bool:
    try:
        made = offer(entry, judged)
    except (LookupError, Refused, OSError, ValueError):  # a plan that cannot be carried out, by our fault too
        return False
    return made is not None and made.holds


def _refuse_other(made: Contents, collector: Collector) -> None:
    """A file that was saved between the check and the plan: its places are those of another content."""
    for path, each in made.items():
        if collector.read.get(path, digest(each.before)) != digest(each.before):
            msg = f"`{path}` was changed while it was checked; nothing was changed, try again"
            raise Refused(msg)


def _tried(plan: Plan, made: Contents, judged: Judged) -> Rejudged | None:
    """Judge the inputs as the plan would leave them."""
    changed = variables(plan, made)
    runs = any(isinstance(each, Run) for each in plan.steps)
    if runs or not (changed or _seen(made, judged.collector)):
        return None
    change = Supposed(files={path: each.after for path, each in made.items()}, variables=changed)
    return rejudge(judged.entries, judged.outcome, judged.collector, change, [plan.problem])


def _seen(made: Contents, collector: Collector) -> bool:
    return any(path in collector.read for path in made)
