"""Judges LCH4907/kubernetes, a row of scheduler-refuses; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_EVICTED = TOML["log_evicted"]
LOG_MESSAGE_FULL = TOML["log_full"]
LOG_MESSAGE_WAITS = TOML["log_waits"]
LOG_MESSAGE_IMAGE = TOML["log_image"]
LOG_MESSAGE_MOUNT = TOML["log_mount"]
LOG_MESSAGE_DEVICES = TOML["log_devices"]
LOG_MESSAGE_LOOPS = TOML["log_loops"]
LOG_MESSAGE_PREEMPTED = TOML["log_preempted"]


#: positions of signatures
_WAITS, _IMAGE, _MOUNT, _STARTED = 1, 2, 4, 8


def explain(hits: Hits) -> Finding | None:
    """Taken away or never started, and for want of what; a pod that was given a node and its image in the end runs."""
    kinds = {hit.signature for hit in hits if hit.signature < _STARTED}
    if (hits.get("pulled") and kinds <= {_WAITS, _IMAGE, _MOUNT}) or (hits.get("assigned") and kinds == {_WAITS}):
        return None
    told = {
        "evicted": LOG_MESSAGE_EVICTED,
        "preempted": LOG_MESSAGE_PREEMPTED,
        "total": LOG_MESSAGE_WAITS,
        "refused": LOG_MESSAGE_DEVICES,
        "looping": LOG_MESSAGE_LOOPS,
        "size": LOG_MESSAGE_FULL,
    }
    told |= dict.fromkeys(("volume", "unmounted"), LOG_MESSAGE_MOUNT)
    message = hits.choice(told, LOG_MESSAGE_IMAGE)
    filled = hits.get("filler") or hits.get("emptydir")
    filled = f"`{filled}`" if filled else ""
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        # the kubelet tries again
        confidence=LIKELY if message in (LOG_MESSAGE_MOUNT, LOG_MESSAGE_LOOPS) else CONFIRMED,
        evicted=hits.get("evicted") or "",
        size=hits.get("size") or "",
        owner=filled or TOML.phrase("all"),
        free=hits.get("free") or "0",
        total=hits.get("total") or "",
        resource=hits.get("resource") or "",
        container=hits.get("container") or "",
        image=hits.get("image") or "of the pod",
        volume=hits.get("volume") or hits.get("unmounted") or "",
        commands=("kubectl describe pod NAME", "kubectl get events --sort-by=.lastTimestamp"),
    )
