"""Judges swift-start-refused (DAT044), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import Message, found
from doctor.catalogue.settings import place_of, truth, whole
from doctor.catalogue.words import words_of
from doctor.facts.packages import Packages
from doctor.facts.training import SWIFT, Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
CASES = TOML.cases
NO_MODE = TOML["no_mode"]
CONFIG = TOML["config"]
PARALLEL = TOML["parallel"]
TRUNCATION = TOML["truncation"]
REFERENCE = TOML["reference"]


@check(PROBLEM)
def swift_refuses(training: Training, world: World, packages: Packages) -> Judgement:
    """What ms-swift's own arguments refuse before the model is loaded; nothing without its release."""
    if training.config_origin != SWIFT or packages.version("ms-swift") is None:
        return
    for message, names, values in _refusals(training, world, packages):
        given = [setting for name in names if (setting := training.get(name)) is not None]
        yield found(
            PROBLEM,
            message,
            where=place_of(*given[:1]),
            evidence=tuple(
                Observed.quoted("launch command", f"--{each.name} {each.text or each.value}") for each in given
            ),
            **values,
        )


def _refusals(
    training: Training, world: World, packages: Packages
) -> Iterator[tuple[Message, tuple[str, ...], dict[str, Any]]]:
    """(message, arguments that are at fault, values) of each rule that is broken."""
    if training.get("config") is not None:
        if packages.matches("ms-swift", ">=4.1.0"):
            yield CONFIG, ("config",), {"version": packages.version("ms-swift")}
        if packages.matches("ms-swift", ">=3.10.0,<4.1.0") is not True:
            return  # what the file says is not read
    kind, engine = training.value("rlhf_type"), truth(training.value("use_vllm"))
    if what := _one_process_for_several(training, world, grpo=kind == "grpo", packages=packages):
        yield CASES[0][1], ("use_vllm",) if "vLLM" in what else (), {"what": what}
    if training.lora is not None and training.value("ref_model") and packages.matches("ms-swift", ">=3.5.3"):
        beta = training.get("beta")
        if kind != "grpo" or beta is None or (beta.known and beta.value != 0):
            yield REFERENCE, ("ref_model",), {}
    if kind != "grpo":
        return
    if engine and training.get("vllm_mode") is None and packages.matches("ms-swift", ">=3.12.0"):
        yield NO_MODE, ("use_vllm",), {}
    size = whole(training.value("vllm_tensor_parallel_size"))
    colocated = engine and training.value("vllm_mode") == "colocate" and packages.matches("ms-swift", ">=3.10.0")
    if colocated and size and world.processes and world.processes % size:
        yield PARALLEL, ("vllm_tensor_parallel_size",), {"size": size, "processes": world.processes}
    strategy = training.value("truncation_strategy")
    if strategy is not None and strategy not in {"left", "delete"} and packages.matches("ms-swift", ">=3.5.3"):
        yield TRUNCATION, ("truncation_strategy",), {"strategy": strategy}


def _one_process_for_several(training: Training, world: World, *, grpo: bool, packages: Packages) -> str:
    """What does not allow that one process takes several GPUs, empty where that is not so.

    The number of GPUs counts, not their use: swift/utils/env.py, `is_mp`.
    """
    several = world.local_processes == 1 and len(world.visible_gpus or ()) > 1
    if not several or truth(training.value("use_ray")):
        return ""
    if world.backend == "deepspeed":
        return "DeepSpeed"
    mixed = grpo and truth(training.value("use_vllm")) and packages.matches("ms-swift", ">=3.6.4")
    return "GRPO with vLLM" if mixed else ""
