"""One measuring process of `--deep` over many nodes: meets the others, multiplies, exchanges, reduces.

Run as `python -c BOOT FOLDER FILE PLAN`, where FOLDER holds this code alone, FILE takes the lines and PLAN is JSON, see
`doctor.readers.machine.measuring`. Nothing waits longer than the plan allows; should its parent die, it dies too.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Optional

from doctor.readers.patient import exchanges, meeting, products, rings
from doctor.readers.patient.said import Said

#: share of the time by which each part has ended; the rest is the rings'
_PRODUCTS_SHARE, _PAIRS_SHARE, _REPEATS_SHARE = 0.05, 0.55, 0.8
_PR_SET_PDEATHSIG = 1  # https://man7.org/linux/man-pages/man2/PR_SET_PDEATHSIG.2const.html


def prepare(plan: dict[str, Any]) -> None:
    """No core files, an end with the parent or after the time, and nothing on the path but packages and this code."""
    import ctypes
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(int(plan["limit_s"]) + 5)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != plan["parent"]:
        os._exit(1)
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]


class Measurement:
    """What one process does between meeting the others and the end."""

    def __init__(self, plan: dict[str, Any], said: Said, torch: Any, dist: Any) -> None:
        self._plan, self._said, self._torch, self._dist = plan, said, torch, dist
        self._me = (plan["node"], plan["local"])
        self._started = time.monotonic()
        self._device = torch.device("cpu")
        if plan["device"] == "cuda":
            self._device = torch.device("cuda", cuda_index(torch, plan["index"], plan["uuid"]))
            torch.cuda.set_device(self._device)

    def run(self, store: Any, decision: meeting.Decision) -> None:
        """All parts, as far as the time reaches."""
        rank = decision.rank(*self._me)
        if rank is None:
            return
        self._said.say(phase="products")
        seconds = min(products.LONGEST_S, _PRODUCTS_SHARE * self._plan["seconds"])
        self._said.say(product=products.measure(self._torch, self._device, seconds))
        if len(decision.members) < 2:
            self._said.say(whole=True)
            return
        self._said.say(phase="group")
        limit = timedelta(seconds=max(5.0, self._plan["seconds"]))
        group = self._dist.PrefixStore("group", store)
        self._dist.init_process_group(
            decision.backend, store=group, rank=rank, world_size=len(decision.members), timeout=limit
        )
        # makes NCCL's communicator of all, which the batches of the exchanges then share
        self._go_on(_PAIRS_SHARE)
        whole = self._exchange(store, decision.members, rank)
        self._said.say(phase="rings")
        for line in rings.measure(
            self._torch, self._dist, self._device, decision.members, self._me, lambda want: self._go_on(1.0, want=want)
        ):
            self._said.say(ring=line)
        self._said.say(whole=whole)

    def _go_on(self, share: float, *, want: bool = True) -> bool:
        """Whether all processes want to go on and have time; the answer is the same in all of them."""
        wanted = want and time.monotonic() - self._started < share * self._plan["seconds"]
        flag = self._torch.tensor([1 if wanted else 0], device=self._device, dtype=self._torch.int32)
        self._dist.all_reduce(flag, op=self._dist.ReduceOp.MIN)
        return bool(flag.item())

    def _exchange(self, store: Any, members: list[exchanges.End], rank: int) -> bool:
        """Pairs, then the suspicious ones again; whether the time was enough for all pairs."""
        self._said.say(phase="pairs")
        exchange = exchanges.Exchange(self._torch, self._dist, self._device, members, self._me)
        lines: list[dict[str, Any]] = []
        whole = self._rounds(exchange, exchanges.all_rounds(members), _PAIRS_SHARE, lines, 0)
        self._said.say(phase="repeats")
        again = self._suspicious(store, rank, len(members), lines)
        for number in range(exchanges.REPEATS):
            if not self._rounds(exchange, again, _REPEATS_SHARE, [], number + 1):
                break
        return whole

    def _rounds(
        self,
        exchange: exchanges.Exchange,
        rounds: Iterable[list[exchanges.Pair]],
        share: float,
        lines: list[dict[str, Any]],
        repeat: int,
    ) -> bool:
        """Measure round after round while there is time; whether there was."""
        for pairs in rounds:
            if not self._go_on(share):
                return False
            for line in exchange.lines(pairs):
                lines.append(line)
                self._said.say(pair={**line, "repeat": repeat})
        return True

    def _suspicious(self, store: Any, rank: int, ranks: int, lines: list[dict[str, Any]]) -> list[list[exchanges.Pair]]:
        """Rounds of the pairs that are to be measured again: the first process sees all lines and says which."""
        store.set("pairs/%d" % rank, json.dumps(lines))
        if rank == 0:
            told = [json.loads(store.get("pairs/%d" % each).decode()) for each in range(ranks)]
            store.set("again", json.dumps(exchanges.repeat_rounds(line for each in told for line in each)))
        rounds = json.loads(store.get("again").decode())
        return [[exchanges.Pair(tuple(a), tuple(b)) for a, b in each] for each in rounds]


def cuda_index(torch: Any, index: int, uuid: Optional[str]) -> int:
    """Torch's number of the GPU with this UUID, for torch may count them in another order.

    Raises:
        ValueError: torch does not see that GPU.

    """
    uuids = [getattr(torch.cuda.get_device_properties(each), "uuid", None) for each in range(torch.cuda.device_count())]
    if uuid is None or None in uuids:  # torch tells UUIDs from 2.5 on
        return index
    return [str(each).replace("GPU-", "") for each in uuids].index(uuid.replace("GPU-", ""))


def main(path: str, text: str) -> None:
    """Run the plan and tell what comes of it."""
    plan, said = json.loads(text), Said(path)
    prepare(plan)
    try:
        said.say(phase="import")
        import torch
        import torch.distributed as dist

        said.say(phase="store", torch=torch.__version__)
        store = meeting.open_store(dist, plan)
        said.say(phase="meeting")
        decision = meeting.meet(store, plan)
        rank, members = decision.rank(plan["node"], plan["local"]), len(decision.members)
        said.say(decision={"missing": decision.missing, "backend": decision.backend, "members": members, "rank": rank})
        Measurement(plan, said, torch, dist).run(store, decision)
    except BaseException as error:
        said.say(error="%s: %s" % (type(error).__name__, str(error)[-2000:]))
    finish(plan)


def finish(plan: dict[str, Any]) -> None:
    """End without taking anything down: whether a backend shuts down cleanly is not the question.

    Where this process holds the store it stays until its parent ends it, for others may still read from it.
    """
    if plan.get("hosts_store") and plan["node"] == 0 and plan["local"] == 0:
        time.sleep(plan["store_s"])
    os._exit(0)
