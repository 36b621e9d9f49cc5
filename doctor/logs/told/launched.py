"""Facts of a launch command that a log or its context shows: what its own words say, and no file of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import Context

#: read from files, which lie where the run was
_FILES = ("script", "accelerate_config", "deepspeed_config", "model", "dataset", "trinity_config")
#: of the machine
_MACHINE = ("gpus", "host", "network", "environment", "packages", "interpreter", "commands", "choices")
_ASKED = ("serving", "training", "world")
#: no folder: relative paths of the command lead nowhere on this machine
NOWHERE = Path("/nonexistent/of-the-run")


def facts_of(argv: tuple[str, ...], teller: Observed) -> Iterator[tuple[str, Any]]:
    """(fact, record) of a launch command; a fact that needs a file is left out.

    Args:
        argv: its words.
        teller: the line that shows it.

    """
    from doctor.readers.collector import Collector
    from doctor.readers.command.launchers import understand

    launch = understand(argv, str(NOWHERE))
    if launch.kind == "unknown" or launch.not_understood is not None:
        return
    unseen = Observed.unseen(f"not in `{teller.origin.source}`")
    given = {**dict.fromkeys((*_FILES, *_MACHINE), unseen), "launch": Observed.seen(launch)}
    collector = Collector(Context(argv, NOWHERE), given, from_file=teller.origin.source)
    collector.ask(_ASKED)
    yield "launch", launch
    for name in _ASKED:
        state = collector.states[name]
        if state.status == "ok" and getattr(state.value, "broken", None) is None:
            yield name, state.value
