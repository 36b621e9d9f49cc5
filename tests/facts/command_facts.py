"""Collects facts of a command as `doctor check` does, on files of a test."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.fact import Context
from doctor.facts.gpus import Gpu, Gpus, MigDevice
from tests.collected import InTurn


def state_of(
    name: str, line: str, folder: Path, *, environ: Mapping[str, str] | None = None, gpus: Gpus | None = None
) -> Observed:
    """State of one fact for a command that is started in `folder`."""
    variables = {"HOME": str(folder / "home"), **(environ or {})}
    context = Context(argv=tuple(shlex.split(line)), cwd=folder, environ=variables)
    unseen = Observed.unseen("no NVIDIA driver")
    given = {"gpus": Observed.seen(gpus) if gpus is not None else unseen}
    collector = InTurn(context, given)
    collector.ask([name])
    return collector.states[name]


def fact_of(name: str, line: str, folder: Path, **rest: Any) -> Any:
    """Value of one fact."""
    state = state_of(name, line, folder, **rest)
    assert state.status == "ok", state.reason
    return state.value


def cards(count: int, *names: str, mig: Mapping[int, tuple[str, ...]] | None = None) -> Gpus:
    """`count` GPUs, of one model unless `names` says otherwise."""
    found = []
    for index in range(count):
        devices = tuple(MigDevice(uuid) for uuid in (mig or {}).get(index, ()))
        name = names[index] if names else "NVIDIA A100"
        uuid = f"GPU-{index:08d}-aaaa-bbbb-cccc-dddddddddddd"
        found.append(Gpu(index, uuid=uuid, name=name, mig_devices=devices, mig_enabled=bool(devices)))
    return Gpus("550.54.15", "12.4", tuple(found))
