"""Judges PYT5808/trl_trainer, a row of code-of-another-release; its words stand in the TOML of the table."""

from __future__ import annotations

import re

from doctor.base.patterns import later
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
BATCH = TOML["batch"]
COPY = TOML["copy"]


_TRL = r"trl[\\/](?:trainer|extras|experimental)[\\/]"


#: place of the constructor of a derived class among the signatures
_COPY = 3
#: classes of TRL itself
_OWN = later(r"(?:Online|Iterative|Nash\w*|XPO|Async)?(?:GRPO|DPO|RLOO|SFT|PPO(?:v2)?|KTO|ORPO|GKD)Trainer")


def _by_copy(hits: Hits) -> Finding | None:
    """A class derived from TRL's that does not take what a script of one's own hands it."""
    frames, derived = hits.first.frames, hits.get("derived") or ""
    if not frames or re.search(r"(?:site|dist)-packages", frames[-1]) or _OWN.fullmatch(derived):
        return None
    folder = re.search(r"[\\/]src[\\/](?P<module>[a-z]\w{1,40})[\\/]", frames[-1])
    module = folder["module"] if folder else "open_r1"
    return found(
        PROBLEM, COPY, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, trainer=derived,
        name=hits.get("option"), module=module, dist=module.replace("_", "-"),
    )  # fmt: skip


def _by_call(hits: Hits) -> Finding | None:
    """An entry or an argument counts where the project's own class asks for it, not TRL and not a plain script."""
    frames = hits.first.frames
    if not frames or re.search(_TRL, frames[-1]) or frames[-1].endswith(":<module>"):
        return None
    name = hits.get("entry") or hits.get("argument")
    return found(PROBLEM, BATCH, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=name)


def explain(hits: Hits) -> Finding | None:
    """A class of TRL's own that lacks an attribute is another matter."""
    if hits.first.signature == _COPY:
        return _by_copy(hits)
    if not hits.get("trainer"):
        return _by_call(hits)
    trainer = hits.get("trainer") or ""
    if _OWN.fullmatch(trainer):
        return None
    installed = hits.versions.get("trl")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        trainer=trainer, name=hits.get("name"),
        installed=installed,
    )  # fmt: skip
