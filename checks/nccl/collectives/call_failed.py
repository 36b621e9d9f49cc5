"""Judges nccl-call-failed (NCC019), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, Message, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.nccl._last_words import LAST_WORDS

TOML = words_of(__name__)
PROBLEM = TOML.problem
SYSTEM = TOML["system"]
CUDA = TOML["cuda"]
CUMEM = TOML["cumem"]
USAGE = TOML["usage"]
INTERNAL = TOML["internal"]


#: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/types.html#ncclresult-t
_RESULTS = {"1": "cuda", "2": "system", "3": "internal", "4": "argument", "5": "usage", "6": "remote"}


def _of_last(hits: Hits) -> Message | None:
    """The line that NCCL prints before it ends, where it tells more than the kind of error."""
    last = hits.get("last") or ""
    return next((message for part, message in LAST_WORDS.items() if part in last), None)


def explain(hits: Hits) -> Finding | None:
    """NCCL's own sorting tells where to look; a lost peer is another problem's."""
    told = f"{hits.get('kind') or ''} {hits.get('code') or ''} {_RESULTS.get(hits.get('number') or '', '')}".lower()
    if "remote" in told:
        return None
    message = _of_last(hits) or next((each for word, each in _BY_WORD if word in told), INTERNAL)
    if message is CUDA and any(_SYNC.search(frame) for hit in hits for frame in hit.frames):
        message = CUMEM
    forced = ", ".join(f"`{name}={value}`" for name, value in hits.config.items() if _FORCES.match(name))
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, forced=forced)


#: variables that take a choice from NCCL, by which it finds a way that works
#: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
_FORCES = later(
    r"NCCL_(?:ALGO|PROTO|NET|NET_PLUGIN|IB_HCA|IB_GID_INDEX|SOCKET_IFNAME|NVLS_ENABLE|P2P_LEVEL|NET_GDR_LEVEL"
    r"|COLLNET_ENABLE|TOPO_FILE|MNNVL_ENABLE)$"
)
_BY_WORD = (("system", SYSTEM), ("cuda", CUDA), ("usage", USAGE), ("argument", USAGE))
#: functions that hand weights to an engine
_SYNC = later(r":(?:broadcast_to_inference_engines|_broadcast_to_vllm|update_weight\w{0,30}|update_named_param)$")
