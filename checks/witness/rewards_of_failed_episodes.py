"""Words for rewards-of-failed-episodes (WIT2194), which stand in the TOML beside it; of kept rollouts and live ones.

Runs inside the patient too, so it keeps to Python 3.9 and the standard library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import words_of
from doctor.oracles.episodes import Episodes, default_reward, idle_episodes, infrastructure, tool_failures
from doctor.oracles.verdict import BROKEN, DOUBTFUL, Verdict

TOML = words_of(__name__)
PROBLEM = TOML.problem


def judged(told: Episodes, source: str, step: Optional[int] = None) -> Iterator[Finding]:
    """What many episodes say together.

    Args:
        told: the episodes.
        source: who kept them: a file, or the witness.
        step: of the last of them.

    """
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
    severity = ERROR if message == "infrastructure" and verdict.state is BROKEN else WARNING
    return found(
        PROBLEM, TOML[message], severity=severity, confidence=LIKELY, where=Where(step=step),
        evidence=(Observed.quoted(source, verdict.reason),), **values,
    )  # fmt: skip
