"""Judges compiled-part-absent (TOR051), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_OWN = TOML["log_own"]


#: these are no part of flash-attn's wheel; they are built from its repository, of a release that still has them
_FLASH = "git+https://github.com/Dao-AILab/flash-attention@v2.5.8#subdirectory=csrc/"

#: pattern of compiled modules -> (package, what to install)
PARTS = (
    (r"_turbomind", "lmdeploy", "lmdeploy"),
    (r"awq_ext|awq_v2_ext|exl_ext|exlv2_ext", "AutoAWQ", "autoawq-kernels"),
    (r"awq_inference_engine", "llm-awq", "git+https://github.com/mit-han-lab/llm-awq#subdirectory=awq/kernels"),
    (r"exllama_kernels|exllamav2_kernels|autogptq_\w{1,20}_\d{2,3}", "AutoGPTQ", "auto-gptq"),
    (r"gptqmodel_\w{1,30}", "GPTQModel", "gptqmodel"),
    (r"selective_scan_cuda", "mamba-ssm", "mamba-ssm"),
    (r"causal_conv1d_cuda", "causal-conv1d", "causal-conv1d"),
    (r"deep_ep_cpp", "DeepEP", "git+https://github.com/deepseek-ai/DeepEP"),
    (r"grouped_gemm_backend", "grouped_gemm", "grouped_gemm"),
    (r"fused_dense_lib", "flash-attn's extra kernels", _FLASH + "fused_dense_lib"),
    (r"dropout_layer_norm", "flash-attn's extra kernels", _FLASH + "layer_norm"),
    (r"xentropy_cuda_lib", "flash-attn's extra kernels", _FLASH + "xentropy"),
    (r"rotary_emb", "flash-attn's extra kernels", _FLASH + "rotary"),
)


def explain(hits: Hits) -> Finding:
    """With the package that the module belongs to."""
    whose = hits.get("whose") or hits.get("owner")
    if whose:
        return found(
            PROBLEM, LOG_MESSAGE_OWN, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, package=whose,
            module=whose + (hits.get("inner") or f".{hits.get('part')}"),
        )  # fmt: skip
    module = hits.get("module") or ""
    package, install = next((each[1:] for each in PARTS if re.fullmatch(each[0], module)), (module, module))
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        module=module,
        package=package,
        install=install,
    )
