"""Judges memory-mapping-refused (HST015), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_PIECES = TOML["log_pieces"]
LOG_MESSAGE_FILE = TOML["log_file"]


SMALL = 64 * 2**20  # pieces of batches are smaller, files of weights larger


def explain(hits: Hits) -> Finding:
    """Small pieces of shared memory run out of mappings, large files out of memory."""
    size = int(hits.get("bytes") or 0)
    name = hits.get("file") or ""
    pieces = size < SMALL and ("/torch_" in name or "not specified" in name)
    return found(
        PROBLEM,
        LOG_MESSAGE_PIECES if pieces else LOG_MESSAGE_FILE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        size=f"{size:,} bytes" if pieces else f"{size / 1e9:.1f} GB",
        commands=("sudo sysctl -w vm.max_map_count=262144",) if pieces else (),
    )
