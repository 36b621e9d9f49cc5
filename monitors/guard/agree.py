"""One decision on all ranks: who has a guard at all, and the strongest policy that any rank asks for.

A collective that only some ranks enter hangs all of them, and one that meets another collective of the training is
worse. So the guard reduces through the key-value store over which the process group met: each rank leaves its word
there, rank 0 reads them and leaves the answer, and every wait ends. A rank whose hooks fail in that very moment, or
that never comes, costs the others the time of one wait, and all of them read the same answer: that there is none.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from contextlib import suppress
from typing import Any, NamedTuple, Optional

from doctor.catalogue.problem import AREAS
from doctor.monitors.guard.policy import ORDER, Policy

#: seconds that rank 0 waits for the guards of the other ranks when the training begins, and whenever they agree: they
#: have just reduced gradients together
ROLL_CALL_S, AGREE_S = 20.0, 60.0

#: seconds that the other ranks wait longer than that for its answer: rank 0 alone opens trackers, logs and saves
PATIENCE_S = 100.0

#: seconds between two questions: at first, and at most
ASK_S, SELDOM_S = 0.0005, 0.02

#: the answer where not every rank has left its word
_NONE = "none"
_serial = itertools.count()
_areas = list(AREAS.values())
#: ids of three digits, and of three or four
_THREE, _NUMBERS = 1_000, 11_000


class Decision(NamedTuple):
    """What all ranks do; `problem` and `rank` of an alarm that asks for it."""

    policy: Policy
    problem: str
    rank: int


def encode(policy: Policy, problem: str, rank: int) -> int:
    """A decision as one number: the greatest of all ranks' is the strongest, of those of the lowest rank."""
    area = _areas.index(problem[:3])
    return (((policy.rank + 1) * 100 + area) * _NUMBERS + _number(problem[3:])) * 100_000 + 99_999 - min(rank, 99_999)


def decode(number: int) -> Optional[Decision]:
    """The decision of a number; None for 0, which is no decision."""
    if number <= 0:
        return None
    rest, rank = divmod(number, 100_000)
    rest, which = divmod(rest, _NUMBERS)
    policy, area = divmod(rest, 100)
    return Decision(ORDER[policy - 1], f"{_areas[area]}{_digits(which)}", 99_999 - rank)


def _number(digits: str) -> int:
    """Digits of an id as a number: three of the early ones, four of those made from a hash, with zeros in front."""
    return int(digits) + (_THREE if len(digits) > 3 else 0)


def _digits(number: int) -> str:
    return f"{number:03d}" if number < _THREE else f"{number - _THREE:04d}"


def distributed() -> Any:
    """torch.distributed where this process is in a group of several, else None. Never imports torch."""
    torch = sys.modules.get("torch")
    module = getattr(torch, "distributed", None)
    if module is None or not module.is_available() or not module.is_initialized() or module.get_world_size() < 2:
        return None
    return module


class Group:
    """The ranks of one training. `complete`: each of them has a guard that works; None until `join`."""

    def __init__(self) -> None:
        self.complete: Optional[bool] = None
        #: whether it was complete once, and a rank has left it
        self.left = False
        self._key = ""
        self._round = 0

    def join(self) -> bool:
        """Find out whether all ranks have a guard; the answer is the same on all that have. Called by each of them.

        Asked again before each agreement: a rank whose hooks failed has withdrawn since.
        """
        module = distributed()
        if self.complete is None:
            self.complete = module is None or self._roll_call()
        elif self.complete and module is not None and self._key:
            self.left = _store().check([self._gone])
            self.complete = not self.left
        return self.complete

    def withdraw(self) -> None:
        """Take part in nothing any more, and let the other ranks know."""
        if self.complete and self._key and distributed() is not None:
            self.left = True
            _store().set(self._gone, "gone")
        self.complete = False

    @property
    def several(self) -> bool:
        """Whether there are other ranks, each with a guard that works."""
        return bool(self.complete) and distributed() is not None

    def strongest(self, mine: int) -> Optional[int]:
        """The greatest number of all ranks, the same on all; None where one of them has left its place.

        Called by all ranks at the same place, behind `join`.
        """
        told = self.gathered(str(mine))
        return None if told is None else max(int(each) for each in told)

    def gathered(self, mine: str, limit_s: float = AGREE_S) -> Optional[list[str]]:
        """What each rank says, in their order; the same on all ranks, and None on all where one says nothing in time.

        Called by all ranks at the same place, behind `join`. After a None no rank takes part in anything any more.
        """
        module = distributed()
        if module is None:
            return [mine]
        if not self.complete:
            return None
        store, rank, size = _store(), module.get_rank(), module.get_world_size()
        self._round += 1
        store.set(self._of(self._round, rank), mine)
        answer = self._of(self._round, "answer")
        if rank == 0:
            words = [self._of(self._round, each) for each in range(size)]
            here = self._waited(store, words, limit_s)
            said = store.compare_set(answer, "", json.dumps(_read(store, words)) if here else _NONE)
        elif self._waited(store, [answer], limit_s + PATIENCE_S):
            said = store.get(answer)
        else:  # the first answer that is written counts, also that of a rank that has waited too long
            said = store.compare_set(answer, "", _NONE)
        text = said.decode()
        if text == _NONE:
            self.complete, self.left = False, self._round > 1
            return None
        self._forget(store, rank)
        told: list[str] = json.loads(text)
        return told

    def _roll_call(self) -> bool:
        if _store() is None:
            return False
        self._key, self.complete = f"doctor-guard/{next(_serial)}", True
        return self.gathered("here", ROLL_CALL_S) is not None

    @property
    def _gone(self) -> str:
        return f"{self._key}/gone"

    def _of(self, number: int, whose: object) -> str:
        return f"{self._key}/{number}/{whose}"

    def _waited(self, store: Any, keys: list[str], seconds: float) -> bool:
        """Whether the keys are there in time, and no rank withdraws before.

        Asked again and again, for torch prints warnings when a wait of its own ends.
        """
        end, pause = time.monotonic() + seconds, ASK_S
        while not store.check(keys):
            if time.monotonic() > end or store.check([self._gone]):
                return False
            time.sleep(pause)
            pause = min(2 * pause, SELDOM_S)
        return True

    def _forget(self, store: Any, rank: int) -> None:
        """Clear the round before away: all ranks have read its answer, or they would not have come to this one."""
        with suppress(Exception):
            store.delete_key(self._of(self._round - 1, rank))
            if rank == 0:
                store.delete_key(self._of(self._round - 1, "answer"))


def _store() -> Any:
    """The key-value store over which the process group met; None where this torch shows none."""
    from torch.distributed import distributed_c10d

    getter = getattr(distributed_c10d, "_get_default_store", None)
    return None if getter is None else getter()


def _read(store: Any, keys: list[str]) -> list[str]:
    """Values of keys that are there: at once where this store can."""
    extended = getattr(store, "has_extended_api", None)
    values = store.multi_get(keys) if extended is not None and extended() else [store.get(each) for each in keys]
    return [each.decode() for each in values]
