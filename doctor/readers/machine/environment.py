"""Collects the fact `environment`."""

from __future__ import annotations

from doctor.base.fact import Context, fact
from doctor.facts.environment import NAMES, PREFIXES, Environment
from doctor.facts.launch import Launch


@fact()
def collect(context: Context, launch: Launch | None) -> Environment:
    """The doctor's own environment with the launch command's assignments laid over it."""
    assigned = dict(launch.environment) if launch else {}
    own = {} if launch and launch.ignores_environment else context.environ
    merged = {**{name: value for name, value in own.items() if not launch or name not in launch.unset}, **assigned}
    kept = {name: value for name, value in merged.items() if name in NAMES or name.startswith(PREFIXES)}
    return Environment(kept, tuple(name for name in assigned if name in kept))
