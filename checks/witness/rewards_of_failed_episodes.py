"""Words for rewards-of-failed-episodes (WIT2194), which stand in the TOML beside it; of kept rollouts and live ones.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

from doctor.base.evidence import Observed
from doctor.catalogue.columns import Stretch
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.rules import sighting, step_text
from doctor.catalogue.series import Point, rule
from doctor.catalogue.shared.tool_calls import CALLS, ToolCalls
from doctor.catalogue.words import words_of

if TYPE_CHECKING:
    from doctor.oracles.episodes import Episodes
    from doctor.oracles.verdict import Verdict

TOML = words_of(__name__)
PROBLEM = TOML.problem


def judged(told: Episodes, source: str, step: Optional[int] = None) -> Iterator[Finding]:
    """What many episodes say together.

    Args:
        told: the episodes.
        source: who kept them: a file, or the witness.
        step: of the last of them.

    """
    # a guard carries the rule alone
    from doctor.oracles.episodes import default_reward, idle_episodes, infrastructure, tool_failures
    from doctor.oracles.verdict import BROKEN, DOUBTFUL

    outside = infrastructure(told)
    if outside.state in (DOUBTFUL, BROKEN):
        ends = ", ".join(f"{name} {count}" for name, count in sorted(outside.details["ends"].items()))
        yield _found(
            "infrastructure", outside, source, step, share=f"{outside.value:.0%}", ends=ends, count=told.count,
            graded=outside.details["graded"], reward=f"{outside.details['reward']:.3g}",
        )  # fmt: skip
    pays = default_reward(told)
    if pays.state is BROKEN:
        yield _found(
            "default", pays, source, step, default=f"{pays.value:.3g}", reward=f"{pays.limit:.3g}", count=told.count
        )
    idle = idle_episodes(told)
    if idle.state is DOUBTFUL:
        yield _found("idle", idle, source, step, share=f"{idle.value:.0%}", count=told.graded)
    tools = tool_failures(told)
    if tools.state is DOUBTFUL and outside.state not in (DOUBTFUL, BROKEN):
        yield _found("tools", tools, source, step, share=f"{tools.value:.0%}", count=told.calls)


def _found(message: str, verdict: Verdict, source: str, step: Optional[int], **values: Any) -> Finding:
    from doctor.oracles.verdict import BROKEN

    severity = ERROR if message == "infrastructure" and verdict.state is BROKEN else WARNING
    return found(
        PROBLEM, TOML[message], severity=severity, confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(source, verdict.reason),), **values,
    )  # fmt: skip


#: logged steps of a median, the share of the first calls that is left where tools were given up, and the share of the
#: reward that must be lost. A sandbox that gave nothing back took 3.7 calls to 0.5 in 20 steps:
#: https://github.com/YoungZ365/SOD/issues/24. Where no reward is lost, RLX016 speaks
STEPS, LEFT, LOST = 5, 0.25, 0.15


@rule(PROBLEM, needs=(CALLS, "reward"), symptom_of=("RLX014", "RLX004", "RLX011"))
class ToolsThatBringNothing:
    """Answers stop calling tools and lose reward: what the tools gave back was of no use."""

    def __init__(self) -> None:
        self._tools = ToolCalls(STEPS, LEFT)
        self._told = False

    def update(self, point: Point) -> Optional[Finding]:
        """Judge the calls of one step, by the rewards so far."""
        now = None if self._told else self._tools.feed(point)
        if now is None or now.reward_before <= 0 or now.reward > (1 - LOST) * now.reward_before:
            return None
        self._told = True
        return found(
            PROBLEM, TOML["given_up"], confidence=LIKELY, step=step_text(point.step), **now.words(), **sighting(point)
        )

    def calm(self, stretch: Stretch) -> bool:
        """Take rows in that tell of no calls, or are not asked about any more."""
        return self._told or self._tools.calm(stretch)
