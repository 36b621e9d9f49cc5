"""Which ranks have come to the making of a process group, by the keys that torch's store holds.

Asked only where a rank stands in `init_process_group` or `new_group`: there its stack does not tell who is missing. A
process of its own, with the Python and the torch of the run, opens one client connection more to MASTER_ADDR and
MASTER_PORT, lists the keys and leaves; nothing is written, waited for or read that is not there. A torch whose
client has no `list_keys` is not asked:
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.TCPStore
Gloo puts the address of each rank of a group below `<group>//cpu//0/<rank>`:
https://github.com/pytorch/gloo/blob/main/gloo/rendezvous/context.cc
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.base.asking import asked
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.catalogue.standing import Frame
from doctor.hang.waits import Seen

#: seconds that the store has to answer, and that the child has in all: to import torch takes several
_ANSWER_S, _CHILD_S = 1, 20
_WORLD = "init_process_group"
_MAKES = (_WORLD, "new_group")
_MOST_RANKS = 1 << 16
_TORCH = re.compile(r"torch/distributed/distributed_c10d\.py$")
_MEMBER = re.compile(r"^default_pg/0(?://(?P<group>\d{1,9}))?//(?:cpu|cuda|xpu)//\d{1,6}/(?P<member>\d{1,6})$")
_MOST_KEYS = 100_000

_ASK = """
import datetime, json, sys
from torch.distributed import TCPStore
if not hasattr(TCPStore, "list_keys"):
    sys.exit(3)
store = TCPStore(sys.argv[1], int(sys.argv[2]), is_master=False, wait_for_workers=False,
                 timeout=datetime.timedelta(seconds=int(sys.argv[3])))
print(json.dumps(store.list_keys()[:int(sys.argv[4])]))
"""


@record
class Arrived:
    """Who has come to the making of the newest group.

    Args:
        call: `init_process_group` or `new_group`.
        waiting: processes that stand there.
        members: numbers in the group of those that have arrived.
        missing: ranks that have not; () for a group of which nobody tells how many it has.
        address: of the store.

    """

    call: str
    waiting: tuple[int, ...]
    members: tuple[int, ...]
    missing: tuple[int, ...]
    address: str


def makes_group(frames: Iterable[Frame]) -> str | None:
    """The call in which a rank makes a process group, None where it does not."""
    return next(
        (name for file, _, name in frames if name in _MAKES and _TORCH.search(file.replace("\\", "/"))), None
    )  # fmt: skip


def arrived(seen: Mapping[int, Seen]) -> tuple[tuple[Arrived, ...], str]:
    """What the store of the run shows, and why nothing is known where it was to be asked."""
    calls: dict[tuple[str, str], list[int]] = {}
    for pid, each in seen.items():
        stack = each.stack(pid)
        call = makes_group(stack.frames) if stack is not None and each.who.rank is not None else None
        address = _address(each.process.environ)
        if call is not None and address:
            calls.setdefault((call, address), []).append(pid)
    found: list[Arrived] = []
    reason = ""
    for (call, address), pids in calls.items():
        keys, why = _keys(seen[pids[0]], address)
        reason = reason or why
        members = members_of(call, keys)
        world = seen[pids[0]].process.environ.get("WORLD_SIZE", "")
        ranks = range(int(world)) if world.isdecimal() and call == _WORLD else ()
        if members:
            missing = tuple(each for each in ranks[:_MOST_RANKS] if each not in members)
            found.append(Arrived(call, tuple(pids), members, missing, address))
    return tuple(found), reason


def _address(environ: Mapping[str, str]) -> str:
    host, port = environ.get("MASTER_ADDR", ""), environ.get("MASTER_PORT", "")
    return f"{host}:{port}" if host and port.isdecimal() else ""


def members_of(call: str, keys: Iterable[str]) -> tuple[int, ...]:
    """Members that have come to the group of all ranks, or to the newest of the others, which all count up alike."""
    groups: dict[int, set[int]] = {}
    for each in keys:
        match = _MEMBER.match(each)
        if match and (match["group"] is None) == (call == _WORLD):
            groups.setdefault(int(match["group"] or 0), set()).add(int(match["member"]))
    return tuple(sorted(groups[max(groups)])) if groups else ()


def _keys(each: Seen, address: str) -> tuple[list[str], str]:
    host, _, port = address.rpartition(":")
    python = each.process.command.split(" ")[0]
    environment = {key: value for key, value in os.environ.items() if key not in ("DOCTOR_RUN_DIR", "PYTHONPATH")}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    try:
        done = asked(
            [python, "-c", _ASK, host, port, str(_ANSWER_S), str(_MOST_KEYS)], environ=environment, seconds=_CHILD_S
        )
        if done.code is None:
            return [], f"torch's store at {address} did not answer within {_CHILD_S} s"
        told: Any = json.loads(done.out.decode("utf-8", "replace").strip().splitlines()[-1])
        return [str(one) for one in told], ""
    except (OSError, ValueError, IndexError, TypeError) as error:
        return [], redact_text(f"torch's store at {address} was not queried ({type(error).__name__})")
