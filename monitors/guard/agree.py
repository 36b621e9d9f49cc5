"""One decision on all ranks: who has a guard at all, and the strongest policy that any rank asks for.

A collective that only some ranks enter hangs all of them. So the ranks first tell one another through the process
group's key-value store, whose waits have time-outs, that each of them has a guard; only then is anything reduced.
"""

from __future__ import annotations

import itertools
import sys
import time
from typing import Any, NamedTuple, Optional

from doctor.core.problem import AREAS
from doctor.monitors.guard.policy import ORDER, Policy

#: seconds that rank 0 waits for the guards of the other ranks, and that those wait for its word: all come out of the
#: same collectives of the trainer's preparation, but rank 0 alone opens the trackers first
ROLL_CALL_S, WORD_S = 20.0, 120.0

#: seconds between two questions
ASK_S = 0.02

_ALL, _SOME = "all", "some"
_serial = itertools.count()
_areas = list(AREAS.values())


class Decision(NamedTuple):
    """What all ranks do; `problem` and `rank` of an alarm that asks for it."""

    policy: Policy
    problem: str
    rank: int


def encode(policy: Policy, problem: str, rank: int) -> int:
    """A decision as one number: the greatest of all ranks' is the strongest, of those of the lowest rank."""
    area = _areas.index(problem[:3])
    return (((policy.rank + 1) * 100 + area) * 1000 + int(problem[3:])) * 100_000 + 99_999 - min(rank, 99_999)


def decode(number: int) -> Optional[Decision]:
    """The decision of a number; None for 0, which is no decision."""
    if number <= 0:
        return None
    rest, rank = divmod(number, 100_000)
    rest, which = divmod(rest, 1000)
    policy, area = divmod(rest, 100)
    return Decision(ORDER[policy - 1], f"{_areas[area]}{which:03d}", 99_999 - rank)


def distributed() -> Any:
    """torch.distributed where this process is in a group of several, else None. Never imports torch."""
    torch = sys.modules.get("torch")
    module = getattr(torch, "distributed", None)
    if module is None or not module.is_available() or not module.is_initialized() or module.get_world_size() < 2:
        return None
    return module


class Group:
    """The ranks of one training. `complete`: each of them has a guard; None until `join`."""

    def __init__(self) -> None:
        self.complete: Optional[bool] = None
        self._key = ""
        self._rounds = itertools.count()

    def join(self) -> bool:
        """Find out whether all ranks have a guard; the answer is the same on all that have. Called by each of them.

        Asked again before each collective: a rank whose hooks failed has withdrawn since.
        """
        module = distributed()
        if self.complete is None:
            self.complete = True if module is None else self._roll_call(module)
        elif self.complete and module is not None and self._key:
            self.complete = not _store().check([f"{self._key}/gone"])
        return self.complete

    def withdraw(self) -> None:
        """Take part in nothing any more, and let the other ranks know."""
        if self.complete and self._key and distributed() is not None:
            _store().set(f"{self._key}/gone", "gone")
        self.complete = False

    def _roll_call(self, module: Any) -> bool:
        """Rank 0 counts heads; the first word written counts, also when it is that of a rank that waited too long."""
        store = _store()
        if store is None:
            return False
        self._key = f"doctor-guard/{next(_serial)}"
        rank, size, word = module.get_rank(), module.get_world_size(), f"{self._key}/word"
        store.set(f"{self._key}/{rank}", "here")
        if rank == 0:
            here = _waited(store, [f"{self._key}/{each}" for each in range(size)], ROLL_CALL_S)
            said = store.compare_set(word, "", _ALL if here else _SOME)
        elif _waited(store, [word], WORD_S):
            said = store.get(word)
        else:
            said = store.compare_set(word, "", _SOME)
        return bool(said.decode() == _ALL)

    def strongest(self, mine: int) -> int:
        """The greatest number of all ranks; one's own where there are no others, or not all have a guard.

        A collective: called by all ranks at the same place, behind `join`. The one number is read from the device.
        """
        module = distributed()
        if module is None or not self.complete:
            return mine
        torch = sys.modules["torch"]
        number = torch.tensor([mine], dtype=torch.int64, device=_device(module))
        module.all_reduce(number, op=module.ReduceOp.MAX)
        return int(number.item())

    def collected(self, text: str, timeout_s: float) -> dict[int, str]:
        """What each rank says, on rank 0; elsewhere one's own. Waits no longer than told, and for nobody for ever."""
        module = distributed()
        if module is None or not self.join():
            return {0: text}
        store, rank, size = _store(), module.get_rank(), module.get_world_size()
        prefix = f"{self._key}/said/{next(self._rounds)}"
        store.set(f"{prefix}/{rank}", text)
        if rank != 0:
            return {rank: text}
        keys = {each: f"{prefix}/{each}" for each in range(size)}
        if not _waited(store, list(keys.values()), timeout_s):
            keys = {each: key for each, key in keys.items() if _waited(store, [key], 0.1)}
        return {each: store.get(key).decode() for each, key in keys.items()}


def _store() -> Any:
    """The key-value store over which the process group met; None where this torch shows none."""
    from torch.distributed import distributed_c10d

    getter = getattr(distributed_c10d, "_get_default_store", None)
    return None if getter is None else getter()


def _waited(store: Any, keys: list[str], seconds: float) -> bool:
    """Whether the keys are there in time. Asked again and again, for torch prints warnings when its own wait ends."""
    end = time.monotonic() + seconds
    while not store.check(keys):
        if time.monotonic() > end:
            return False
        time.sleep(ASK_S)
    return True


def _device(module: Any) -> Any:
    """Where a tensor must lie for the default group: on the CPU for gloo and MPI, else on this rank's device."""
    torch = sys.modules["torch"]
    backend = str(module.get_backend())
    if "gloo" in backend or "mpi" in backend:
        return torch.device("cpu")
    if "nccl" in backend:
        return torch.device("cuda", torch.cuda.current_device())
    accelerator = torch.accelerator.current_accelerator()  # torch 2.6 and newer; others than CUDA need it
    return torch.device(accelerator.type, torch.accelerator.current_device_index())
