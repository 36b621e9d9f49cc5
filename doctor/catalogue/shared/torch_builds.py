"""Shared by the checks of torch and CUDA: which GPUs the run uses, versions as numbers, official wheels."""

from __future__ import annotations

import re

from doctor import data
from doctor.base.patterns import later
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.packages import Packages, TorchBuild
from doctor.facts.training import Training
from doctor.facts.world import World

WHEELS = "https://download.pytorch.org/whl"
_NAME = later(r"(sm|compute)_(\d+)(\d)[af]?$")
_NUMBER = later(r"(\d+)\.(\d+)(\+PTX)?$")


def used_gpus(gpus: Gpus, world: World | None) -> tuple[Gpu, ...]:
    """Return the GPUs that the command leaves visible; all of them without a command."""
    if world is None or world.visible_gpus is None:
        return tuple(gpu for gpu in gpus.gpus if gpu.error is None)
    return tuple(gpu for gpu in gpus.gpus if gpu.index in world.visible_gpus and gpu.error is None)


def numbers(version: str | None) -> tuple[int, ...]:
    """Return the numbers in front of a version: "12.4.127" -> (12, 4, 127); () when it begins with none."""
    match = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def major(version: str | None) -> int | None:
    """Return the first number of a version, None when there is none."""
    return next(iter(numbers(version)), None)


def trains_on_cpu(training: Training | None, world: World | None) -> bool:
    """Whether the command asks for the CPU."""
    if world is not None and world.backend in {"cpu", "tpu"}:
        return True
    setting = training.get("use_cpu") if training is not None else None
    return setting is not None and setting.value is True


def cuda_tag(build: TorchBuild) -> str | None:
    """Return the tag of a CUDA build as wheels carry it: "12.6" -> "cu126"."""
    return "cu" + "".join(build.cuda.split(".")[:2]) if build.cuda else None


def is_official(packages: Packages) -> bool:
    """Whether torch is one of PyTorch's own release wheels, as far as its version tells; conda's are not."""
    build = packages.torch_build
    if build is None or {"pytorch", "libtorch", "pytorch-gpu"} & packages.conda.keys():
        return False
    public, _, local = build.version.partition("+")
    return re.fullmatch(r"\d+(\.\d+)*", public) is not None and re.fullmatch(r"(cu\d+)?", local) is not None


def older_wheel(version: str, driver_cuda: str) -> str | None:
    """Return the newest CUDA tag in which a torch release is built for a driver's major version; None: not known."""
    release = data.torch_release(version)
    if release is None:
        return None
    default = [f"cu{release.cuda.replace('.', '')}"] if release.cuda else []
    fit = [tag for tag in (*default, *release.variants) if tag.startswith(f"cu{major(driver_cuda)}")]
    return max(fit, default=None)


def public(version: str) -> str:
    """Return a version without its local part."""
    return version.partition("+")[0]


def runs_on(capability: tuple[int, int], listed: tuple[str, ...]) -> bool:
    """Whether a card can run one of the listed architectures, "8.6", "9.0+PTX", "sm_86" or "compute_90"."""
    for each in listed:
        if match := _NAME.match(each):
            kind, has = match[1], (int(match[2]), int(match[3]))
            if (kind == "compute" and has <= capability) or (kind == "sm" and _same_family(has, capability)):
                return True
        elif match := _NUMBER.match(each):
            has = (int(match[1]), int(match[2]))
            if _same_family(has, capability) or (match[3] and has <= capability):
                return True
    return False


def _same_family(has: tuple[int, int], capability: tuple[int, int]) -> bool:
    return has[0] == capability[0] and has[1] <= capability[1]
