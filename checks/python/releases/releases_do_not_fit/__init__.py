"""What rows of releases-do-not-fit share that take judgement of their own; the engine has compared the versions."""

from __future__ import annotations

from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement
from doctor.catalogue.finding import CONFIRMED, LIKELY, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.words import MAIN, ProblemWords


def unless_spared(words: ProblemWords, imported: bool | None, commands: tuple[str, ...], **versions: Any) -> Judgement:
    """A pair of releases that does not fit, as it is if the command comes to import it.

    Args:
        words: of the row.
        imported: whether the command does; None where that is not known, False where it does without.
        commands: what mends it.
        versions: name -> the installed release of each, which fill the words.

    """
    if imported is False:
        return
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield found(
        words.problem,
        words[MAIN],
        confidence=CONFIRMED if imported else LIKELY,
        severity=ERROR if imported else WARNING,
        commands=commands,
        evidence=(Observed.quoted("installed packages", listed),),
        **versions,
    )
