"""A part of the Megatron stack is not installed.

## What it means
`strategy=megatron` needs Megatron-Core and, by the recipe, Transformer Engine, mbridge or Megatron-Bridge, and apex.
veRL's own installation brings none of them, their import names differ from their names on the package index, and
`megatron.training` is in no package at all.
## What it does to a run
The workers end at their import.
## What to do
Use veRL's image for Megatron, or install the part by its right name.
## How it is found
In a log: by the failing import.
## References
https://github.com/NVIDIA-NeMo/Speech/issues/8814
https://verl.readthedocs.io/en/latest/start/install.html
https://github.com/verl-project/verl/issues/6931
https://github.com/NVIDIA/Megatron-LM/issues/1476
https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/installation.html
https://github.com/NVIDIA/apex#installation
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VRL026", name="megatron-stack-incomplete", severity=ERROR, since="0.1")

MEGATRON = "git+https://github.com/NVIDIA/Megatron-LM.git"
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

SIGNATURES = (
    Signature(
        r"^(?:ModuleNotFoundError|ImportError): No module named '(?P<module>megatron(?:\.(?:core|train"
        r"ing|legacy|bridge))?|transformer_engine(?:\.\w{1,40})?|mbridge|megatron_bridge|mindspeed(?:"
        r"\.\w{1,40})?|apex(?:\.\w{1,40})?|fused_layer_norm_cuda|amp_C|grouped_gemm)'$",
    ),
    Signature(r"^ImportError: (?P<module>Apex) was not found\. Please see the NeMo"),
    Signature(
        r"gradient_accumulation_fusion set to True but the custom CUDA extension "
        r"(?P<fused>fused_weight_gradient_mlp_cuda)"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{module}` of the Megatron stack is not installed (it comes from {source})",
        "Training with Megatron needs parts that veRL and the other trainers do not bring, and that go "
        "by other names on the package index: `pip install megatron` or `pip install apex` fetch "
        "something else.",
        "`{command}`, in versions that belong together: simplest is veRL's image for Megatron (tags with "
        "`mcore`), else the versions in its `scripts/install_vllm_sglang_mcore.sh`. On Ascend NPUs there "
        "is no Transformer Engine: use MindSpeed with the Megatron-LM release that it names. Without "
        "Megatron: `actor_rollout_ref.actor.strategy=fsdp2`.",
    ),
    zh=Words(
        "没有安装 Megatron 相关的 `{module}`(来自 {source})",
        "用 Megatron 训练需要 veRL 等训练框架并不附带的部分,而且它们在包索引上的名称不同:`pip install "
        "megatron` 或 `pip install apex` 装到的是别的东西。",
        "`{command}`,版本要相互配套:最简单的是使用 veRL 的 Megatron 镜像(tag 含 `mcore`),否则用其 "
        "`scripts/install_vllm_sglang_mcore.sh` 中的版本。昇腾 NPU 上没有 Transformer Engine:请用 "
        "MindSpeed 及其指定的 Megatron-LM 版本。不用 Megatron 时:`actor_rollout_ref.actor.strategy=fsdp2`"
        "。",
    ),
)


FUSION = Message(
    en=Words(
        "Megatron is to fuse gradient accumulation, and Apex with CUDA extensions is not installed",
        "`gradient_accumulation_fusion` is on by default and takes a kernel (`fused_weight_gradient_mlp_cuda`) that "
        "only an Apex built with `--cpp_ext --cuda_ext` (or Transformer Engine) has; `pip install apex` fetches "
        "something else.",
        "Switch it off, which costs little: ms-swift `--gradient_accumulation_fusion false`, Megatron-LM "
        "`--no-gradient-accumulation-fusion`, veRL "
        "`+actor_rollout_ref.actor.megatron.override_transformer_config.gradient_accumulation_fusion=False`. Or build "
        "it: `{command}`.",
    ),
    zh=Words(
        "Megatron 要求融合梯度累积,但没有安装带 CUDA 扩展的 NVIDIA Apex",
        "`gradient_accumulation_fusion` 默认打开,需要 `fused_weight_gradient_mlp_cuda` 内核,只有以 `--cpp_ext "
        "--cuda_ext` 编译的 Apex(或 Transformer Engine)才有;`pip install apex` 装到的是别的东西。",
        "关闭它,代价很小:ms-swift 用 `--gradient_accumulation_fusion false`,Megatron-LM 用 "
        "`--no-gradient-accumulation-fusion`,veRL 用 "
        "`+actor_rollout_ref.actor.megatron.override_transformer_config.gradient_accumulation_fusion=False`。或编译安"
        "装:`{command}`。",
    ),
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
