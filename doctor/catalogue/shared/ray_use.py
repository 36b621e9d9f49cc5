"""What the checks of Ray share, and those of the host that depend on Ray."""

from __future__ import annotations

from doctor.facts.launch import Launch
from doctor.facts.script import Script
from doctor.facts.serving import Serving

MIB = 1024**2
GIB = 1024**3


def asks_vllm_for_ray(serving: Serving | None) -> bool:
    """Whether a server is told to place its workers by Ray."""
    backend = serving.arguments.get("distributed_executor_backend") if serving is not None else None
    return backend is not None and backend.known and backend.value == "ray"


def uses_ray(launch: Launch, serving: Serving | None) -> bool:
    """Whether the command starts Ray or joins it."""
    return launch.kind in {"verl", "trinity", "ray"} or asks_vllm_for_ray(serving)


def joins_ray(launch: Launch, serving: Serving | None, script: Script | None) -> bool:
    """Whether the command calls `ray.init`: it starts a cluster of its own or joins the one it finds."""
    imports = script.imports if script is not None and launch.trains else ()
    by_script = any(each == "ray" or each.startswith("ray.") for each in imports)
    return launch.kind in {"verl", "trinity"} or asks_vllm_for_ray(serving) or by_script
