"""Adapters of PEFT on this machine that a command names: in its words, its settings, or calls of its script."""

from __future__ import annotations

from doctor.base.fact import Settings
from doctor.base.record import record


@record
class Adapter:
    """One folder with an `adapter_config.json`: its path as it is written, and what that file says."""

    name: str
    settings: Settings


@record
class Adapters:
    """All that were found, in the order in which they are named."""

    listed: tuple[Adapter, ...] = ()
