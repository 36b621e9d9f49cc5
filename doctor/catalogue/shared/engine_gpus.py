"""What the checks of vLLM share: the GPUs that an engine takes, its release, and how it is divided."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.settings import whole
from doctor.catalogue.shared.proofs import effective, seen_by
from doctor.data import VllmRelease
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.packages import Packages
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.world import World

SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")

#: `--hf-overrides` and the like replace values of the model's config.json, after which its own prove nothing
OVERRIDES = ("hf_overrides", "rope_scaling", "rope_theta", "hf_config_path", "config_format")


def release_of(packages: Packages) -> VllmRelease | None:
    """Facts of the installed vLLM, None when it is absent or the data do not list it."""
    version = packages.version("vllm")
    return data.vllm_release(version) if version else None


def sizes_known(serving: Serving) -> bool:
    """Whether every parallel size that is given is a number (`$TP` is none)."""
    given = (serving.arguments.get(name) for name in SIZES)
    return all(each is None or whole(each.value) is not None for each in given)


def overridden(serving: Serving) -> bool:
    """Whether the command replaces parts of the model's own configuration."""
    return any(name.split(".")[0] in OVERRIDES for name in serving.arguments)


def devices(serving: Serving) -> int:
    """GPUs of this machine that the server takes: tensor, pipeline and data parallel replicas that start here."""
    given = serving.arguments
    elsewhere = ("data_parallel_rank", "data_parallel_address", "data_parallel_hybrid_lb", "data_parallel_external_lb")
    replicas = serving.data_parallel_size
    if "data_parallel_size_local" in given:
        local = whole(given["data_parallel_size_local"].value)
        replicas = 1 if local is None else local
    elif any(name in given for name in elsewhere):
        replicas = 1
    return serving.tensor_parallel_size * serving.pipeline_parallel_size * replicas


def served_gpus(serving: Serving | None, gpus: Gpus, environment: Environment | None) -> list[Gpu]:
    """GPUs that the server takes, in CUDA's order; [] where they cannot be told."""
    if serving is None or not sizes_known(serving) or "device_ids" in serving.arguments:
        return []
    seen = seen_by(None, gpus, environment)
    wanted = devices(serving)
    if not seen or len(seen) < wanted:
        return []
    by_index = {gpu.index: gpu for gpu in gpus.gpus}
    if wanted < len(seen) and len({gpu.name for gpu in gpus.gpus}) > 1:
        return []  # CUDA may count cards of several models in another order
    return [by_index[index] for index in seen[:wanted] if index in by_index]


def colocated_parallel(training: Training | None, packages: Packages | None) -> Observed | None:
    """Setting of the tensor parallel size of vLLM inside the trainer, None where there is no such vLLM."""
    if training is None or not training.value("use_vllm"):
        return None
    mode = effective(training, packages, "vllm_mode")
    setting = training.get("vllm_tensor_parallel_size")
    return setting if mode is not None and mode.value == "colocate" and setting and setting.known else None


def engine_gpus(
    serving: Serving | None,
    training: Training | None,
    world: World | None,
    gpus: Gpus,
    environment: Environment | None,
    packages: Packages | None,
) -> list[Gpu]:
    """GPUs on which the command runs vLLM itself: a server's, or those of a trainer that holds the engine."""
    if serving is not None:
        return served_gpus(serving, gpus, environment)
    if training is None or world is None or not training.value("use_vllm") or world.order_uncertain:
        return []
    mode = effective(training, packages, "vllm_mode")
    if mode is None or mode.value != "colocate":
        return []
    used = (world.visible_gpus or ())[: world.local_processes or 1]
    return [gpu for gpu in gpus.gpus if gpu.index in used]


def capability(gpu: Gpu) -> str:
    """Compute capability as people write it, `7.5`."""
    return ".".join(map(str, gpu.compute_capability or ()))
