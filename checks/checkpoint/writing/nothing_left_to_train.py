"""Judges nothing-left-to-train (CKP029), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.record import replace
from doctor.catalogue.finding import LIKELY, Finding
from doctor.catalogue.signature import Hit, Hits, Signature, finding_of_signature
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem


CASES = (
    (
        Signature(
            r"'train_runtime': '?(?:0\.0\d{0,5}|\d\.\d{0,4}e-\d\d)'?, 'train_samples_per_second': [^\s,]{1,24}, "
            r"'train_steps_per_second': [^\s,]{1,24}, (?:'total_flos': [^\s,]{1,24}, )?'train_loss': '?0(?:\.0)?'?, "
            r"'epoch': '?(?!0(?:\.0{1,6})?'?[,}])\d",
            kind="warning",
        ),
        TOML["training_ended_step"],
        LIKELY,
    ),
    (
        Signature(r"^AttributeError: 'TrainerState' object has no attribute 'last_model_checkpoint'"),
        TOML["ms_swift_looks"],
        LIKELY,
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for; nothing of a training that the guard stopped."""
    stops = hits.of(len(CASES))
    kept = [each for each in hits if each.signature < len(CASES) and not any(_before(stop, each) for stop in stops)]
    return finding_of_signature(PROBLEM, CASES, replace(hits, kept=kept)) if kept else None


def _before(stop: Hit, end: Hit) -> bool:
    """Whether the guard spoke before a training ended: in the same log by its lines, else at any time."""
    return stop.file != end.file or stop.line < end.line
