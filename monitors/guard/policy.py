"""What the guard does when it raises an alarm: one policy for each problem."""

from __future__ import annotations

from enum import Enum
from typing import Iterable, Mapping, Optional

from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import ERROR


class Policy(str, Enum):
    """What follows an alarm, in order of strength: a stronger one takes the place of a weaker one.

    warn: say it, on the console, in the run folder and in the trackers. skip-step: drop the gradients of this step on
    all ranks. checkpoint: drop them, save at once on all ranks, and stop. stop: drop them and stop without saving.
    raise: end the program with GuardStop. A step that is already applied cannot be dropped; the rest holds.
    """

    WARN = "warn"
    SKIP_STEP = "skip-step"
    CHECKPOINT = "checkpoint"
    STOP = "stop"
    RAISE = "raise"

    @property
    def rank(self) -> int:
        """0 for warn up to 4 for raise."""
        return ORDER.index(self)

    @property
    def stops(self) -> bool:
        """Whether the run ends."""
        return self.rank >= Policy.CHECKPOINT.rank


ORDER: tuple[Policy, ...] = tuple(Policy)

#: A non-finite step is dropped, so the weights are still good: save them and stop before more time is burnt. Steps that
#: are skipped for ever teach nothing, and no DeepSpeed stage 0 or GradScaler ends such a run. Everything else warns: a
#: falling scale harms no weight, and what reward, KL or entropy do is for the person who runs it to judge.
DEFAULTS: Mapping[str, Policy] = {"NUM006": Policy.CHECKPOINT, "DSP017": Policy.CHECKPOINT}


def strongest(policies: Iterable[Optional[Policy]]) -> Optional[Policy]:
    """The one of the highest rank; None of none."""
    return max((each for each in policies if each is not None), key=lambda each: each.rank, default=None)


def policy_named(text: str) -> Policy:
    """The policy of a name.

    Raises:
        ValueError: there is none of that name; lists those there are.

    """
    try:
        return Policy(text.strip().lower().replace("_", "-"))
    except ValueError:
        known = ", ".join(each.value for each in ORDER)
        raise ValueError(f"`{text}` is not a policy; known are {known}") from None


class Policies:
    """Problem -> policy.

    Args:
        overrides: id (`NUM006`), letters of an area (`RLX`) or `*` -> policy; the most exact one holds. It holds for
            findings of any severity; a default only for those of severity error.

    Raises:
        ValueError: a policy or an id is none.

    """

    def __init__(self, overrides: Optional[Mapping[str, str]] = None) -> None:
        self._chosen: dict[str, Policy] = {}
        for key, name in (overrides or {}).items():
            self._chosen[_key(key)] = policy_named(str(getattr(name, "value", name)))

    def of(self, finding: Finding) -> Policy:
        """The policy to apply to a finding."""
        id_ = finding.problem.id
        for key in (id_, id_[:3], "*"):
            if key in self._chosen:
                return self._chosen[key]
        return DEFAULTS.get(id_, Policy.WARN) if finding.severity is ERROR else Policy.WARN


def _key(text: str) -> str:
    key = text.strip().upper()
    if key != "*" and not (key[:3].isalpha() and len(key) in (3, 6) and (key[3:].isdigit() or len(key) == 3)):
        raise ValueError(f"`{text}` is neither a problem's id (NUM006), nor letters of an area (RLX), nor *")
    return key
