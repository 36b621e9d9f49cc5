"""Judges gpu-architecture-absent (TOR003), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Skip, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.torch_builds import (
    WHEELS,
    cuda_tag,
    is_official,
    public,
    runs_on,
    trains_on_cpu,
    used_gpus,
)
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.facts.deep import Deep
from doctor.facts.gpus import Gpu, Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_CARD = TOML["log_card"]
LOG_MESSAGE_CUTLASS = TOML["log_cutlass"]
LOG_MESSAGE_PACKAGE = TOML["log_package"]
LOG_MESSAGE = TOML["log"]
MESSAGE = TOML["main"]


def _listed(packages: Packages, interpreter: Interpreter | None) -> tuple[tuple[str, ...], bool] | None:
    """Architectures of the wheel by its release and variant, and whether that is confirmed; None: not known."""
    build = packages.torch_build
    if build is None or not is_official(packages) or (interpreter is not None and interpreter.machine != "x86_64"):
        return None
    release = data.torch_release(build.version)
    if release is None:
        return None
    tag = cuda_tag(build)
    if release.cuda and tag == f"cu{release.cuda.replace('.', '')}":
        return (release.arch_list, release.arch_list_confidence == "confirmed") if release.arch_list else None
    listed = release.variants.get(tag) if tag else None
    return (listed, True) if listed else None


@check(PROBLEM)
def architecture_absent(
    packages: Packages,
    gpus: Gpus,
    deep: Deep | None,
    interpreter: Interpreter | None,
    training: Training | None,
    world: World | None,
) -> Judgement:
    """One finding a compute capability."""
    build = packages.torch_build
    cards = used_gpus(gpus, world)
    if build is None or build.cuda is None or not cards or trains_on_cpu(training, world):
        return
    asked = deep.torch_arch_list if deep is not None else ()
    known = (asked, True) if asked else _listed(packages, interpreter)
    if known is None:
        yield Skip(f"the architectures in torch {build.version} are not known; --deep asks torch")
        return
    told: set[tuple[int, int]] = set()
    for gpu in cards:
        if gpu.compute_capability is None:
            yield Skip(f"{gpu.label} does not report its compute capability")
        elif gpu.compute_capability not in told and not runs_on(gpu.compute_capability, known[0]):
            told.add(gpu.compute_capability)
            yield found(
                PROBLEM,
                MESSAGE,
                confidence=CONFIRMED if known[1] else LIKELY,
                where=Where(gpu=gpu.index),
                commands=_commands(build.version, gpu),
                evidence=(Observed.quoted("torch's architectures", " ".join(known[0])),),
                version=build.version,
                cuda=build.cuda,
                capability=_text(gpu.compute_capability),
                gpu=gpu.label,
                listed=" ".join(known[0]),
            )


def _text(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"


def _commands(version: str, gpu: Gpu) -> tuple[str, ...]:
    """Builds of the same release that have the card's code."""
    release = data.torch_release(version)
    if release is None or gpu.compute_capability is None:
        return ()
    fit = [tag for tag, listed in release.variants.items() if runs_on(gpu.compute_capability, listed)]
    return tuple(f'pip install --force-reinstall "torch=={public(version)}" --index-url {WHEELS}/{tag}' for tag in fit)


def explain(hits: Hits) -> Finding | None:
    """Torch's warning names card and architecture, CUTLASS those that its kernel has; the error alone does not."""
    if (unknown := hits.get("card")) and not hits.of(0):
        return found(
            PROBLEM, LOG_MESSAGE_CUTLASS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, card=unknown,
            known=(hits.get("known") or "").replace("'", "`"),
        )  # fmt: skip
    warned = hits.of(1)
    card = warned[0].groups if warned else {}
    frames = [frame for hit in hits.of(0) for frame in hit.frames]
    inside = next((name for name in ("vllm", "xformers", "flash_attn", "bitsandbytes", "deepspeed", "sgl_kernel")
                   if any(f"/{name}/" in f"/{frame}" for frame in frames[-6:])), "")  # fmt: skip
    inside = "lmdeploy" if hits.get("turbomind") else inside
    if not hits.of(0) and not warned:
        return None
    return found(
        PROBLEM,
        LOG_MESSAGE_CARD if card else LOG_MESSAGE_PACKAGE if inside else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if card else LIKELY,
        severity=ERROR if hits.of(0) else WARNING,
        commands=("nvidia-smi --query-gpu=name,compute_cap --format=csv",),
        gpu=card.get("gpu"),
        arch=card.get("arch"),
        package=inside,
    )
