"""Shared by the checks of CUDA: versions of the libraries that torch's wheels bring."""

from __future__ import annotations

from doctor.catalogue.shared.torch_builds import numbers
from doctor.facts.packages import Packages

#: library -> distribution of it, without the `-cu12` that wheels for CUDA 11 and 12 carry
DISTRIBUTIONS = {
    "libcublas": "nvidia-cublas",
    "libcublasLt": "nvidia-cublas",
    "libcudart": "nvidia-cuda-runtime",
    "libcudnn": "nvidia-cudnn",
    "libcufft": "nvidia-cufft",
    "libcurand": "nvidia-curand",
    "libcusolver": "nvidia-cusolver",
    "libcusparse": "nvidia-cusparse",
    "libcusparseLt": "nvidia-cusparselt",
    "libnccl": "nvidia-nccl",
    "libnvJitLink": "nvidia-nvjitlink",
    "libnvrtc": "nvidia-cuda-nvrtc",
}


def wheel_version(packages: Packages, stem: str) -> str | None:
    """Return the version of a library that the nvidia-* wheels bring, None without such a wheel.

    Of several (`-cu12` beside the plain name of CUDA 13) the one of torch's CUDA counts.
    """
    name = DISTRIBUTIONS.get(stem)
    if name is None:
        return None
    build = packages.torch_build
    major = build.cuda.partition(".")[0] if build is not None and build.cuda else None
    names = (f"{name}-cu{major}", name) if major else (f"{name}-cu12", f"{name}-cu11", name)
    return next((version for each in names if (version := packages.version(each))), None)


def is_older(version: str | None, than: str | None) -> bool | None:
    """Whether a library of the same major version is older; None where the numbers do not tell.

    Libraries of another major version have another file name and stand in nobody's way.
    """
    one, other = numbers(version), numbers(than)
    length = min(len(one), len(other))
    if length < 2 or one[0] != other[0]:
        return None
    return one[:length] < other[:length]
