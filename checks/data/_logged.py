"""Who raised an exception that a reward function is blamed for: the trainer that called it, or the function itself."""

from __future__ import annotations

import re

from doctor.catalogue.signature import Hit, Hits

#: frames in which GRPO trainers (TRL's, ms-swift's, Unsloth's copy) call reward functions and read what they return
CALLS_REWARDS = (
    r"(?i)grpo\w*trainer\.py:(?:_calculate_rewards|_generate_and_score_completions|_prepare_inputs|_invoke_async"
    r"|_score_completions|_compute_rewards_per_func|compute_loss)$"
)
_CALLER = re.compile(CALLS_REWARDS + r"|(?i:grpo\w*trainer\.py:<(?:listcomp|genexpr)>$)")


def by_trainer(hits: Hits) -> list[Hit]:
    """Hits whose innermost frame is the trainer's: what it was handed is wrong, not what the function did inside."""
    return [hit for hit in hits if hit.frames and _CALLER.search(hit.frames[-1])]
