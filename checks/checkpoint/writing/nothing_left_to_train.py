"""Judges nothing-left-to-train (CKP029), whose words stand in the TOML beside it."""

from __future__ import annotations

from typing import Optional

from doctor.base.patterns import later
from doctor.base.record import replace
from doctor.catalogue.courses import Courses
from doctor.catalogue.finding import LIKELY, Finding, found
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


_RESUMED = later(
    r"(?im)^[^\n]{0,80}\b(?:resum\w*|restor\w*|load\w*)\b[^\n]{0,60}?(?:checkpoint|ckpt|step)s?[^\n]{0,120}$"
)
_STEP = later(r"(?i)(?:global_step|checkpoint|step|ckpt)[-_/ ](?P<step>\d{1,9})\b")
_TOTAL = later(r"(?i)\btotal (?:training |optimi[sz]ation )?steps\b\s?[:=]\s?(?P<total>\d{1,9})\b")
_ENDED = later(r"(?i)\btraining (?:is |has )?(?:finished|completed?|done|ended)\b")
_NO_STEP = later(r"(?i)\b(?:do|run|train|take|left|remain\w*)\b[^.\n]{0,12}\b(?:zero|0|no) steps\b")


def of_quoted(courses: Courses) -> Optional[Finding]:
    """A resumed run of which nothing is shown between its beginning and its end, or that says so itself."""
    if not courses.excerpt or courses.of:
        return None
    resumed = _RESUMED.search(courses.words)
    if _NO_STEP.search(courses.words) and (resumed or courses.settings.get("resume_from_checkpoint")):
        return found(PROBLEM, TOML["zero"], confidence=LIKELY)
    step, total = _STEP.search(resumed[0]) if resumed else None, _TOTAL.search(courses.words)
    ended = _ENDED.search(courses.words, resumed.end()) if resumed else None
    if step is None or total is None or ended is None or int(step["step"]) >= int(total["total"]):
        return None
    return found(PROBLEM, TOML["early"], confidence=LIKELY, step=step["step"], total=total["total"])
