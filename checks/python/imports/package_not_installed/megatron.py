"""Judges PYT3270/megatron, a row of package-not-installed; its words stand in the TOML of the table."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
FUSION = TOML["fusion"]


#: first part of a module, or the whole of it -> (how it is installed, where it comes from)
INSTALLED_BY = {
    "megatron.training": (
        "git clone https://github.com/NVIDIA/Megatron-LM && export PYTHONPATH=$PWD/Megatron-LM",
        "a checkout",
    ),
    "megatron.legacy": (
        "git clone https://github.com/NVIDIA/Megatron-LM && export PYTHONPATH=$PWD/Megatron-LM",
        "a checkout",
    ),
    "megatron.bridge": ("pip install --no-deps megatron-bridge", "megatron-bridge"),
    "megatron_bridge": ("pip install --no-deps megatron-bridge", "megatron-bridge"),
    "megatron": ("pip install --no-deps megatron-core", "megatron-core"),
    "transformer_engine": ('pip install --no-build-isolation "transformer_engine[pytorch]"', "transformer_engine"),
    "mbridge": ("pip install mbridge", "mbridge"),
    "mindspeed": ("pip install git+https://gitcode.com/Ascend/MindSpeed.git", "MindSpeed"),
    "grouped_gemm": ("pip install --no-build-isolation git+https://github.com/fanshiqing/grouped_gemm", "grouped_gemm"),
}
APEX = (
    (
        'pip install -v --no-build-isolation --no-cache-dir --config-settings "--build-option=--cpp_ext" '
        '--config-settings "--build-option=--cuda_ext" git+https://github.com/NVIDIA/apex'
    ),
    "NVIDIA/apex",
)


def explain(hits: Hits) -> Finding:
    """The name on the package index is not the name that is imported."""
    if hits.get("fused"):
        return found(
            PROBLEM, FUSION, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED, command=APEX[0]
        )
    module = hits.get("module") or ""
    # the other parts are imported by programs without Megatron too
    sure = "megatron" in module or any("megatron" in frame.lower() for hit in hits for frame in hit.frames)
    command, source = INSTALLED_BY.get(module) or INSTALLED_BY.get(module.partition(".")[0]) or APEX
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if sure else LIKELY,
        module=module,
        source=source,
        command=command,
        commands=(command,),
    )
