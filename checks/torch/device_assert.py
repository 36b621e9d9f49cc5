"""Judges cuda-device-assert (TOR012), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_TABLE = TOML["log_table"]
LOG_MESSAGE_LABELS = TOML["log_labels"]
LOG_MESSAGE_SAMPLING = TOML["log_sampling"]
LOG_MESSAGE_DRAFT = TOML["log_draft"]


_DRAFTING = later(r"[\\/](?:speculative|spec_decode)[\\/]")


def explain(hits: Hits) -> Finding | None:
    """The text of the check tells the kind, the traceback whether it was a draft of the engine."""
    assertion = hits.get("assertion") or ""
    kernel = hits.get("kernel") or ""
    sampling = "nan" in assertion or "element < 0" in assertion or "multinomial" in kernel.lower()
    labels = "n_classes" in assertion or "nll_loss" in kernel.lower()
    table = "srcSelectDimSize" in assertion or "vectorized_gather" in kernel
    drafting = any(_DRAFTING.search(frame) for hit in hits for frame in hit.frames[-6:])
    return found(
        PROBLEM,
        LOG_MESSAGE_SAMPLING
        if sampling
        else LOG_MESSAGE_DRAFT
        if drafting and not labels
        else LOG_MESSAGE_LABELS
        if labels
        else LOG_MESSAGE_TABLE
        if table
        else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if sampling or labels else LIKELY,
        commands=("CUDA_LAUNCH_BLOCKING=1",),
    )
