"""Whether the engine followed the large step of a rehearsal, by what the witness noted in its run folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from doctor.rehearse.session import Session
from doctor.rehearse.words import SENTENCES


def weight_update(session: Session, language: str) -> str:
    """A sentence on trainer and engine after the large step; "" where nothing was compared."""
    told = _after(session)
    gap = None if told is None else told["verdicts"]["agreement"].get("value")
    if told is None or gap is None:
        return ""
    key = "follows" if told["verdicts"]["agreement"]["state"] == "holds" else "does_not_follow"
    values = {name: math.nan if told.get(of) is None else told[of] for name, of in _FIGURES.items()}
    return SENTENCES[language][key].format(gap=gap, **values)


_FIGURES = {"before": "baseline", "noise": "noise"}


def unseen(session: Session) -> str:
    """Why nothing was compared although a large step was made; "" where it was, or none was made."""
    if not session.rehearsed.of("enlarged") or _after(session) is not None:
        return ""
    off = [each for each in _said(session) if each.get("witness") == "off"]
    return str(off[-1].get("reason")) if off else "the witness was not queried"


def _after(session: Session) -> Mapping[str, Any] | None:
    """The witness's last round behind the large step that compared log probabilities."""
    if not session.rehearsed.of("enlarged"):
        return None
    rounds = [
        each
        for each in _said(session)
        if each.get("witness") == "round" and each["step"] >= 1 and "agreement" in each.get("verdicts", {})
    ]
    return rounds[-1] if rounds else None


def _said(session: Session) -> list[Mapping[str, Any]]:
    """What the witness wrote, with the step of each."""
    return [
        {**each["data"], "step": each.get("step") or 0}
        for each in session.run.read_events()
        if each["kind"] == "monitor" and "witness" in (each.get("data") or {})
    ]
