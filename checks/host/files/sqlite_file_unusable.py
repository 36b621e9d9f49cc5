"""Judges sqlite-file-unusable (HST028), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


#: what SQLite says -> why
_WHY = TOML.phrases("why")
#: part of a frame -> owner and where its file is set
_OWNERS = (
    ("outlines", "outlines", "`rm -rf ~/.cache/outlines`, `export OUTLINES_CACHE_DIR=/tmp/outlines-$USER`"),
    ("diskcache", "diskcache (outlines keeps its compiled grammars there)",
     "`rm -rf ~/.cache/outlines`, `export OUTLINES_CACHE_DIR=/tmp/outlines-$USER`"),
    ("mlflow", "MLflow", "`export MLFLOW_TRACKING_URI=sqlite:////tmp/mlflow.db`, or a tracking server"),
    ("optuna", "Optuna", "a storage URL on a local disk, or a server database for several nodes"),
)  # fmt: skip


def explain(hits: Hits) -> Finding:
    """Whose file it is shows in the frames."""
    frames = " ".join(frame for hit in hits for frame in hit.frames)
    owner, place = next(((each[1], each[2]) for each in _OWNERS if each[0] in frames), ("", ""))
    what = hits.get("what") or ""
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        owner=owner or TOML.phrase("library"),
        what=what,
        why=_WHY.get(what, _WHY["disk I/O error"]),
        place=place or TOML.phrase("setting"),
    )
