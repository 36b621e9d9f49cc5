"""Judges runtime-library-missing (CUD009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE_PRELOAD = TOML["log_preload"]
LOG_MESSAGE = TOML["log"]


#: torchvision and torchaudio say so of parts that nobody asked for, and go on
_OPTIONAL = later(r"UserWarning: |Failed to load image Python extension")


def explain(hits: Hits) -> Finding | None:
    """Libcudart and its siblings carry the major version of CUDA in their names; cuDNN and NCCL carry their own."""
    if all(_OPTIONAL.search(hit.text) for hit in hits):
        return None
    library, major, program = hits.get("library") or "", hits.get("major"), hits.get("program")
    frames = [frame for hit in hits for frame in hit.frames]
    package = next((name for name in ("vllm", "sgl_kernel", "flash_attn", "xformers", "bitsandbytes", "torch")
                    if any(f"/{name}/" in f"/{frame}" for frame in frames[-3:])), "")  # fmt: skip
    own = library in ("cudart", "cublas", "cublasLt", "cusparse", "nvrtc", "nvJitLink")
    cuda = f"CUDA {major}" if own else "another CUDA"
    return found(
        PROBLEM,
        LOG_MESSAGE_PRELOAD if program else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        program=program or "",
        library=library,
        major=major,
        package=package or "",
        cuda=cuda,
        confidence=CONFIRMED if own and not program else LIKELY,
        commands=("echo $LD_PRELOAD",) if program else ("python -c 'import torch; print(torch.version.cuda)'",),
    )
