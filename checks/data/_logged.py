"""Who raised an exception that a reward function is blamed for: the trainer that called it, or the function itself."""

from __future__ import annotations

from typing import Any

from doctor.base.patterns import later
from doctor.catalogue.finding import Finding, found
from doctor.catalogue.problem import Severity
from doctor.catalogue.signature import Hit, Hits
from doctor.catalogue.words import ProblemWords

#: frames in which GRPO trainers (TRL's, ms-swift's, Unsloth's copy) call reward functions and read what they return
CALLS_REWARDS = (
    r"(?i)grpo\w*trainer\.py:(?:_calculate_rewards|_generate_and_score_completions|_prepare_inputs|_invoke_async"
    r"|_score_completions|_compute_rewards_per_func|compute_loss)$"
)
_CALLER = later(CALLS_REWARDS + r"|(?i:grpo\w*trainer\.py:<(?:listcomp|genexpr)>$)")


def blamed(toml: ProblemWords, hits: Hits, *captured: str, severity: Severity | None = None) -> Finding | None:
    """Blame a reward function, only where the trainer's own frame raised.

    Args:
        toml: words of the problem.
        hits: with the group `function`.
        captured: other groups that the message shows; names in them stand in quotes of code.
        severity: None for the problem's own.

    """
    raised = by_trainer(hits)
    if not raised:
        return None
    groups = raised[0].groups
    values: dict[str, Any] = {name: groups[name].replace("'", "`") for name in captured}
    return found(
        toml.problem, toml["log"], where=hits.where(), evidence=hits.evidence(), severity=severity,
        function=groups["function"].rpartition(".")[2], **values,
    )  # fmt: skip


def by_trainer(hits: Hits) -> list[Hit]:
    """Hits whose innermost frame is the trainer's: what it was handed is wrong, not what the function did inside."""
    return [hit for hit in hits if hit.frames and _CALLER.search(hit.frames[-1])]
