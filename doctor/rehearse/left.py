"""Processes that wait for another one which has come to the end of the program: a collective that it never called."""

from __future__ import annotations

import re

from doctor.catalogue.finding import Finding
from doctor.checks.nccl.collectives import collective_on_one_rank
from doctor.logs.failures.frames import frame_of
from doctor.rehearse.record import Rehearsed
from doctor.run.folder import RunDir

#: how gloo and NCCL say that the other side has gone
#: https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc
#: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
_GONE = re.compile(r"Connection closed by|Read error|Write error|ncclRemoteError|remote process exiting|got 0 bytes")


def waits_for_who_left(part: Rehearsed, run: RunDir) -> Finding | None:
    """What is said of a pass in which a rank lost the connection to one that ended without an error; None of others.

    Args:
        part: the journals of the pass.
        run: its folder, with the exceptions of its processes.

    """
    failed = [each for each in run.read_events() if each["kind"] == "exception" and each["data"].get("traceback")]
    lost = {each.get("rank") or 0: each["data"] for each in failed}
    left = sorted({each["rank"] for each in part.of("left") if not each["failed"]} - lost.keys())
    if not left or not lost or not all(_GONE.search(str(each.get("text"))) for each in lost.values()):
        return None
    waiting = min(lost)
    frames = [frame_of(line) for line in str(lost[waiting]["traceback"]).splitlines()]
    own = [each for each in frames if each is not None and each.own]
    if not own:
        return None
    text = str(lost[waiting].get("text"))[:300]
    return collective_on_one_rank.of_rehearsal(waiting, left[0], own[-1].path, own[-1].line, text)
