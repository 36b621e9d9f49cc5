"""The parts of FlashInfer are of different releases, or FlashInfer and the engine are.

## What it means
FlashInfer is up to three packages: `flashinfer-python`, `flashinfer-cubin` and `flashinfer-jit-cache`, which must be of
one release. The engine in turn calls it as one release wants to be called; another one checks its arguments otherwise.
## What it does to a run
The import, or the first call of an attention wrapper, ends the engine.
## What to do
Install the version that the engine pins, all parts of it.
## How it is found
In a log, by FlashInfer's own words.
## References
https://github.com/flashinfer-ai/flashinfer/blob/v0.6.18/flashinfer/jit/env.py
https://github.com/vllm-project/vllm/issues/7070
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL100", name="flashinfer-parts-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?P<part>flashinfer-(?:cubin|jit-cache)) version \((?P<theirs>[\w.+\-]{1,40})\) does not match flashinfer "
        r"version \((?P<own>[\w.+\-]{1,40})\)"
    ),
    Signature(
        r"CHECK_EQ\((?P<argument>(?:paged_kv_|qo_|kv_)?(?:indptr|last_page_len|indices)\.size\(0\)), "
        r"[^\n)]{1,60}\) failed"
    ),
)

PARTS = Message(
    en=Words(
        "`{part}` is {theirs}, and `flashinfer-python` is {own}",
        "These packages must be of one release: the compiled kernels of one are not those that the Python code of "
        "the other calls. One was installed or upgraded alone, often as a dependency of another package.",
        "Bring them to the version that the engine pins (`pip show vllm sglang`, `pip check`): `pip install "
        "'flashinfer-python=={own}' '{part}=={own}'`, or uninstall the part (`pip uninstall {part}`): then the kernels "
        "are fetched or compiled when they are needed. `FLASHINFER_DISABLE_VERSION_CHECK=1` only hides the difference.",
    ),
    zh=Words(
        "`{part}` 为 {theirs},而 `flashinfer-python` 为 {own}",
        "这些包必须是同一版本:一方编译好的内核并不是另一方 Python 代码所调用的。其中之一被单独安装或升级,往往是作为其他"
        "包的依赖。",
        "统一到引擎限定的版本(`pip show vllm sglang`、`pip check`):`pip install 'flashinfer-python=={own}' "
        "'{part}=={own}'`;或卸载该部分(`pip uninstall {part}`),内核会在需要时下载或编译。"
        "`FLASHINFER_DISABLE_VERSION_CHECK=1` 只会掩盖差异。",
    ),
)

CALLED = Message(
    en=Words(
        "the engine calls FlashInfer in a way that the installed version does not take",
        "FlashInfer compares the length of an index with the size of the batch and they differ: engine and FlashInfer "
        "are of releases that do not belong together (vLLM 0.5.3 calls FlashInfer 0.1.2, and 0.1.3 checks more).",
        "Install the FlashInfer that the engine was released with, for its CUDA and torch (for vLLM 0.5.3: "
        "`flashinfer==0.1.2`), or upgrade the engine; or take another attention backend (vLLM: "
        "`VLLM_ATTENTION_BACKEND=FLASH_ATTN`, newer `--attention-backend`; SGLang: `--attention-backend triton`).",
    ),
    zh=Words(
        "引擎调用 FlashInfer 的方式与所装版本不符",
        "FlashInfer 将索引长度与批大小比较,二者不同:引擎与 FlashInfer 的版本不配套(vLLM 0.5.3 针对 FlashInfer 0.1.2,而 "
        "0.1.3 检查更多)。",
        "安装与引擎同期、与其 CUDA 和 torch 相符的 FlashInfer(vLLM 0.5.3:`flashinfer==0.1.2`),或升级引擎;或换用其他"
        "注意力后端(vLLM:`VLLM_ATTENTION_BACKEND=FLASH_ATTN`,新版为 `--attention-backend`;SGLang:"
        "`--attention-backend triton`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Two packages of one library, or library and engine."""
    part = hits.get("part")
    return found(
        PROBLEM,
        PARTS if part else CALLED,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if part else LIKELY,
        part=part or "",
        theirs=hits.get("theirs") or "",
        own=hits.get("own") or "",
    )
