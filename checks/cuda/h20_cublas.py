"""Judges h20-cublas (CUD006), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor import data
from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, Where, found
from doctor.catalogue.problem import ERROR, WARNING
from doctor.catalogue.shared.torch_builds import cuda_tag, used_gpus
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of
from doctor.checks.cuda._helpers import is_older, wheel_version
from doctor.facts.cuda import Cuda
from doctor.facts.deep import Deep
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.world import World

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_MAYBE = TOML["log_maybe"]
MESSAGE = TOML["main"]


GOOD = "12.3.4.1"
BAD = "12.1.3.1"
#: every wheel of this build pins BAD, those of torch 2.4 and 2.5 whose default is CUDA 12.4 as well
BAD_TAG = "cu121"


_H20 = later(r"\bH20\b")


def _cublas(packages: Packages, cuda: Cuda | None, deep: Deep | None) -> tuple[str, str] | None:
    """(version, where it is from) of the cublasLt that would be loaded, as well as that can be told."""
    for mapped in deep.mapped if deep is not None else ():
        if mapped.stem == "libcublasLt" and mapped.version and mapped.version.count("."):
            return mapped.version, mapped.path
    wheel = wheel_version(packages, "libcublasLt")
    for each in cuda.shadowing if cuda is not None else ():
        if each.stem == "libcublasLt" and each.version and is_older(each.version, GOOD):
            return each.version, f"{each.path} in LD_LIBRARY_PATH"
    if wheel:
        return wheel, "the nvidia-cublas package"
    return _of_build(packages)


def _of_build(packages: Packages) -> tuple[str, str] | None:
    """The cuBLAS that belongs to a build of torch, where neither a file nor a package tells it."""
    build = packages.torch_build
    if build is None or not build.cuda:
        return None
    if cuda_tag(build) == BAD_TAG:
        return BAD, f"what torch {build.version} is built for: CUDA {build.cuda}"
    release = data.torch_release(build.version)
    if release is None or not release.cuda or not release.cublas or packages.conda:
        return None
    same = cuda_tag(build) == f"cu{release.cuda.replace('.', '')}"
    pinned = release.cublas.removeprefix("==")
    return (pinned, f"what torch {build.version} pins") if same and pinned.replace(".", "").isdigit() else None


@check(PROBLEM)
def h20_cublas(gpus: Gpus, packages: Packages, cuda: Cuda | None, deep: Deep | None, world: World | None) -> Judgement:
    """A crash of a product in `--deep` confirms it."""
    card = next((gpu for gpu in used_gpus(gpus, world) if _H20.search(gpu.name or "")), None)
    cublas = _cublas(packages, cuda, deep) if card is not None else None
    if card is None or cublas is None or not is_older(cublas[0], GOOD):
        return
    products = deep.matmuls if deep is not None else ()
    crashed = any(each.signal == "SIGFPE" for each in products)
    reported_bad = cublas[0] == BAD or bool(is_older(cublas[0], BAD))
    yield found(
        PROBLEM,
        MESSAGE,
        severity=ERROR if reported_bad or crashed else WARNING,
        confidence=CONFIRMED if crashed else LIKELY,
        where=Where(gpu=card.index),
        commands=('pip install "nvidia-cublas-cu12==12.4.5.8"',),
        evidence=(Observed.quoted(cublas[1], f"cuBLAS {cublas[0]}"),),
        gpu=card.label,
        version=cublas[0],
        good=GOOD,
        source=cublas[1],
    )


def explain(hits: Hits) -> Finding | None:
    """The card or the library in the stack makes it certain enough; the context may tell which build of torch it is."""
    deaths = (*hits.of(0), *hits.of(1), *hits.of(4))
    if not deaths:
        return None
    h20, inside = bool(hits.of(2)) or "H20" in hits.context, bool(hits.of(3))
    packages = hits.facts.get("packages")
    cublas = _cublas(packages, None, None) if isinstance(packages, Packages) else None
    bad = cublas is not None and bool(is_older(cublas[0], GOOD))
    if not h20 and not inside and cublas is not None and not bad:
        return None
    version, source = cublas if cublas and bad else ("", "")
    return found(
        PROBLEM,
        LOG_MESSAGE if h20 or inside else LOG_MESSAGE_MAYBE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if h20 and (inside or bad) else LIKELY,
        version=version,
        source=source,
    )
