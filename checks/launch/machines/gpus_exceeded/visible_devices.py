"""Judges LCH5095/visible_devices, a row of gpus-exceeded; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import found
from doctor.catalogue.shared.communication import runs_elsewhere
from doctor.catalogue.words import words_of
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.launch import Launch
from doctor.facts.visible import visible
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]
INCLUDE = TOML["include"]


@check(PROBLEM)
def visible_devices_absent(
    world: World | None, gpus: Gpus, environment: Environment, launch: Launch | None
) -> Judgement:
    """A training as its launcher resolves it, anything else by the variable; too large counts are `processes`."""
    text = environment.get("CUDA_VISIBLE_DEVICES")
    by = world.hidden_by if world is not None and world.hidden_by else "CUDA_VISIBLE_DEVICES"
    left, unknown = (world.visible_gpus, world.unknown_devices) if world is not None else visible(gpus, text)
    if not unknown or not gpus.gpus or by == "--num_gpus" or (launch is not None and runs_elsewhere(launch)):
        return
    indices = ", ".join(str(gpu.index) for gpu in gpus.gpus)
    if by == "--include":
        yield from _included(launch, unknown, indices)
        return
    yield found(
        PROBLEM,
        MESSAGE,
        by=by,
        entries=", ".join(f"`{entry}`" for entry in unknown),
        indices=indices,
        left=len(left or ()),
        commands=(f"CUDA_VISIBLE_DEVICES={indices.replace(' ', '')}",),
        evidence=(Observed.quoted("environment", f"CUDA_VISIBLE_DEVICES={text}"),) if text else (),
    )


def _included(launch: Launch | None, unknown: tuple[str, ...], indices: str) -> Judgement:
    """DeepSpeed's own list; one for other hosts says nothing about this machine."""
    setting = launch.option("include") if launch is not None else None
    hosts = {part.partition(":")[0] for part in str(setting.value if setting else "").split("@")}
    if hosts == {"localhost"}:
        yield found(
            PROBLEM,
            INCLUDE,
            entries=", ".join(f"`{entry}`" for entry in unknown),
            indices=indices,
            first=unknown[0],
            commands=(f"--include localhost:{indices.replace(' ', '')}",),
            evidence=(Observed.quoted("launch command", f"--include {setting.value if setting else ''}"),),
        )
