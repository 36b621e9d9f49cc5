"""SGLang calls sgl-kernel, vLLM or FlashInfer in a way that the installed release does not take.

## What it means
Each release of SGLang is written for one release of sgl-kernel and FlashInfer, and until 0.5 for one of vLLM, of which
it borrows quantization. Installed side by side by hand, or upgraded alone, they differ in functions and arguments; and
imports that fail are passed over until the name is used.
## What it does to a run
The server ends while it loads the model, or with the first request.
## What to do
Install the set that the release names.
## How it is found
In a log, by the exception and the place in SGLang that raised it.
## References
https://github.com/sgl-project/sglang/issues/5668
https://github.com/sgl-project/sglang/issues/3476
https://github.com/sgl-project/sglang/issues/7583
https://github.com/sgl-project/sglang/issues/9603
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL107", name="sglang-neighbours-differ", severity=ERROR, since="0.1")

_LAYERS = r"sglang[\\/]srt[\\/]"

SIGNATURES = (
    Signature(
        r"AttributeError: (?:'_OpNamespace' '(?P<space>sgl_kernel)' object"
        r"|module '(?P<module>sgl_kernel)(?:\.\w{1,40}){0,3}') has no attribute '(?P<kernel>\w{1,80})'"
    ),
    Signature(
        r"TypeError: (?P<method>(?:\w{0,40}(?:Method|vLLMParameter|MoEMethod|GroupCoordinator|CacheWrapper)\.\w{2,60})"
        r"|moe_fused_gate|\w{2,40}_gemm)\(\) (?:got an unexpected keyword argument|missing \d{1,2} required|takes "
        r"(?:from )?\d{1,2})",
        frame=_LAYERS,
        symptom_of=("VLL062",),
    ),
    Signature(r"NameError: name '(?P<guarded>\w{3,60})' is not defined", frame=r"sglang[\\/]srt[\\/]layers[\\/]"),
    Signature(r"ImportError: (?P<vllm>vllm) is required when SGLANG_USE_AITER is set to False"),
)

LOG_MESSAGE = Message(
    en=Words(
        "SGLang and {neighbour} do not fit together: `{name}`",
        "SGLang asks {neighbour} for something that the installed release does not have or takes with other arguments. "
        "One of them was installed or upgraded alone, or SGLang runs from a checkout beside an older wheel.",
        'Install the set of one release, in a fresh environment: `pip install -U "sglang[all]"` (releases before 0.5 '
        "also need the vLLM version that they name: `pip show sglang`, `pip check`), or use the image of that release "
        '(`lmsysorg/sglang:vX`). For a checkout: `pip install -e "python[all]"` again, so that sgl-kernel follows.',
    ),
    zh=Words(
        "SGLang 与 {neighbour} 不配套:`{name}`",
        "SGLang 需要 {neighbour} 的某项功能,而所装版本没有,或参数不同。其中之一被单独安装或升级,或 SGLang 从源代码"
        "目录运行而 wheel 较旧。",
        '在全新环境中安装同一版本的整套:`pip install -U "sglang[all]"`(0.5 之前的版本还需要它指定的 vLLM:`pip show '
        "sglang`、`pip check`),或使用该版本的镜像(`lmsysorg/sglang:vX`)。源代码目录:重新 `pip install -e "
        '"python[all]"`,使 sgl-kernel 同步。',
    ),
)

ABSENT = Message(
    en=Words(
        "SGLang uses `{name}`, which it could not import when it started",
        "It imports kernels and quantization of other packages (vLLM, sgl-kernel, AITER) only if they are there, "
        "and goes on without them; this model needs them. A warning at the start names the import that failed.",
        "Read that warning and install what it names in the version that this release wants: `pip install -U "
        '"sglang[all]"`, for quantized models of releases before 0.5 also the vLLM that they name (`pip install '
        "vllm==VERSION`), on AMD AITER (`export SGLANG_USE_AITER=1` in AMD's image). Or upgrade SGLang, or take "
        "weights that need no such kernel.",
    ),
    zh=Words(
        "SGLang 使用 `{name}`,而启动时未能导入它",
        "SGLang 只在存在时导入其他包(vLLM、sgl-kernel、AITER)的内核与量化,否则继续运行;而此模型需要它们。启动时的警"
        "告指明了导入失败的是什么。",
        '查看该警告,并按该版本的要求安装:`pip install -U "sglang[all]"`;0.5 之前版本的量化模型还需其指定的 '
        "vLLM(`pip install vllm==VERSION`);AMD 上需要 AITER(AMD 镜像中 `export SGLANG_USE_AITER=1`)。或升级 "
        "SGLang,或使用不需要此类内核的权重。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Another release of a neighbour, or none."""
    told = hits.first.groups
    absent = told.get("guarded") or told.get("vllm")
    method = told.get("method") or ""
    neighbour = "sgl-kernel" if told.get("kernel") else "FlashInfer" if "CacheWrapper" in method else "its neighbour"
    return found(
        PROBLEM,
        ABSENT if absent else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        neighbour="vLLM or sgl-kernel" if neighbour == "its neighbour" else neighbour,
        name=absent or told.get("kernel") or method,
    )
