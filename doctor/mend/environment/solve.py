"""The smallest change that makes an environment fit: keep everything, else let go and take back what can stay."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from packaging.requirements import Requirement

from doctor import data
from doctor.facts.packages import normalised
from doctor.mend.environment.knowledge import Limit, Misfit, misfits
from doctor.mend.environment.uv import Solution, TooSlow, Unsolvable

#: what is kept before other things where not all can stay: other wheels are built for these
HEAVY = ("torch", "vllm", "flash-attn", "deepspeed", "triton", "ray", "transformers", "trl")
SHRINK_S = 120.0
MAX_BRANCHES = 12

Solver = Callable[[Iterable[str], Iterable[str]], Solution]


@dataclass(frozen=True)
class SolverWishes:
    """What the user asks for.

    Args:
        wanted: requirements, "trl[vllm]>=1".
        kept: names whose installed version must stay.

    """

    wanted: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Normalised names of what is wanted."""
        return tuple(normalised(Requirement(each).name) for each in self.wanted)


@dataclass(frozen=True)
class Installation:
    """Normalised names and versions of what is installed, and the limits of the machine."""

    installed: Mapping[str, str]
    limits: tuple[Limit, ...] = ()

    def after(self, solution: Solution) -> dict[str, str]:
        """Every version once a solution is carried out."""
        left = {name: version for name, version in self.installed.items() if name not in solution.removed}
        return {**left, **solution.added}


@dataclass(frozen=True)
class Answer:
    """A solution with the misfits that had to be avoided for it."""

    solution: Solution
    avoided: tuple[Misfit, ...] = ()


def smallest(environment: Installation, wishes: SolverWishes, solver: Solver) -> Answer:
    """The set of versions nearest to what is installed.

    Raises:
        Unsolvable: no set fits the wishes.

    """
    budget = [MAX_BRANCHES]
    return _without_misfits(environment, wishes, solver, (), (), budget)


def _without_misfits(
    environment: Installation,
    wishes: SolverWishes,
    solver: Solver,
    extra: tuple[str, ...],
    avoided: tuple[Misfit, ...],
    budget: list[int],
) -> Answer:
    """Solve; where the result is known not to work, try each way around it and take the one that changes least."""
    budget[0] -= 1
    solution = _nearest(environment, wishes, solver, extra)
    misfit = next(misfits(environment.after(solution)), None)
    if misfit is None:
        return Answer(solution, avoided)
    best: Answer | None = None
    proof = Unsolvable(misfit.cause)
    for way in misfit.ways:
        if budget[0] <= 0:
            break
        try:
            found = _without_misfits(environment, wishes, solver, (*extra, way), (*avoided, misfit), budget)
        except Unsolvable as exc:
            proof = exc
            continue
        if best is None or weight(found.solution) < weight(best.solution):
            best = found
    if best is None:
        raise proof
    return best


def weight(solution: Solution) -> tuple[int, int, int]:
    """Order of preference: few heavy packages replaced, few replaced, few added."""
    heavy = sum(name in HEAVY for name in solution.replaced)
    return heavy, len(solution.replaced), len(solution.added)


def _nearest(environment: Installation, wishes: SolverWishes, solver: Solver, extra: tuple[str, ...]) -> Solution:
    """Keep all installed versions; else let uv choose and take back, one by one, what can stay as it is.

    Where nothing fits with everything that is installed, only the stack has to.
    """
    installed = environment.installed
    requirements = [*wishes.wanted, *sorted(installed)]
    fixed = [*pins(installed, wishes.kept), *extra, *(text for each in environment.limits for text in each.constraints)]
    try:
        return solver(requirements, [*fixed, *pins(installed, installed)])
    except Unsolvable:
        pass
    try:
        solution = solver(requirements, fixed)
    except Unsolvable:
        stack = sorted({*data.packages(), *wishes.kept} & installed.keys())
        if len(stack) == len(installed):
            raise
        requirements = [*wishes.wanted, *stack]
        solution = solver(requirements, fixed)
    held: list[str] = []
    began = time.monotonic()
    for name in sorted(solution.replaced, key=_importance):
        if name not in solution.replaced or time.monotonic() - began > SHRINK_S:
            continue
        try:
            other = solver(requirements, [*fixed, *pins(installed, [*held, name])])
        except Unsolvable:
            continue
        if weight(other) < weight(solution):  # else it stays at the cost of something heavier
            solution = other
            held.append(name)
    return solution


def _importance(name: str) -> tuple[int, str]:
    return (HEAVY.index(name) if name in HEAVY else len(HEAVY), name)


def pins(installed: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Constraints that hold packages at their installed version."""
    return [f"{name}=={installed[name]}" for name in names if name in installed]


def in_the_way(environment: Installation, wishes: SolverWishes, solver: Solver) -> list[tuple[str, Solution | None]]:
    """Wishes without any one of which the others can be had, as typed, with what would change then.

    None instead of a solution: that question took too long. An empty text stands for the limits of the machine.
    """
    found: list[tuple[str, Solution | None]] = []
    fewer = [(text, environment, left) for text, left in _one_less(wishes)]
    if environment.limits:
        fewer.append(("", Installation(environment.installed), wishes))
    for text, where, left in fewer:
        try:
            found.append((text, smallest(where, left, solver).solution))
        except Unsolvable:
            continue
        except TooSlow:
            found.append((text, None))
    return found


def _one_less(wishes: SolverWishes) -> Sequence[tuple[str, SolverWishes]]:
    by_want = [
        (f"--want '{each}'", SolverWishes(tuple(one for one in wishes.wanted if one != each), wishes.kept))
        for each in wishes.wanted
    ]
    by_keep = [
        (f"--keep {each}", SolverWishes(wishes.wanted, tuple(one for one in wishes.kept if one != each)))
        for each in wishes.kept
    ]
    return [*by_keep, *by_want]
