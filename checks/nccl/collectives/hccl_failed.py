"""Judges hccl-failed (NCC029), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LINK = TOML["link"]
OPERATION = TOML["operation"]
NETWORK = TOML["network"]
PORT = TOML["port"]
OTHER = TOML["other"]
DTYPE = TOML["dtype"]


#: code -> its words; what waits for another rank is the usual case
WORDS = {"EI0006": LINK, "EI0009": LINK, "EI0002": OPERATION, "EI0013": NETWORK, "EJ0003": PORT}


#: HcclResult of CANN's header hccl_types.h, as far as the name tells something
RESULTS = TOML.phrases("result")


def explain(hits: Hits) -> Finding:
    """The code tells more than the number of the call."""
    if dtype := hits.get("dtype"):
        return found(
            PROBLEM, DTYPE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, dtype=f"`{dtype}`",
            operation=hits.get("operation"),
        )  # fmt: skip
    code = hits.get("code") or ""
    if port := hits.get("port"):
        return found(
            PROBLEM, PORT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            code=f"{hits.get('address')}:{port}",
        )  # fmt: skip
    sets_up = "CommInit" in (hits.get("call") or "")
    return found(
        PROBLEM,
        WORDS.get(code, OTHER),
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        code=code or "HCCL",
        call=hits.get("call") or "HCCL",
        number=hits.get("number") or "-",
        meaning=RESULTS.get(hits.get("number") or "", ""),
        network=TOML.phrase("sets_up") if sets_up else "",
    )
