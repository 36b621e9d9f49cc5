"""SGLang's kernels cannot be loaded.

## What it means
SGLang keeps its CUDA kernels in a package of its own (`sgl-kernel`, later `sglang-kernel`), built for certain GPUs, one
CUDA and one torch. At import it tries the library for this GPU, then another, and gives up when none loads.
## What it does to a run
Nothing that imports SGLang starts.
## What to do
Install the kernels that belong to the installed SGLang, CUDA and torch, and the system libraries they need.
## How it is found
In a log: by the words of the kernels' own loader; the reason stands below them.
## References
https://github.com/sgl-project/sglang/issues/29646
https://github.com/sgl-project/sglang/issues/18203
https://github.com/sgl-project/sglang/pull/30562
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL086", name="sglang-kernel-not-loaded", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"\[sgl_kernel\] CRITICAL: Could not load any common_ops library",
        symptom_of=("CUD009", "TOR011", "HST", "LCH003"),
    ),
    Signature(
        r"- ImportError: (?P<library>lib[\w+.-]{2,40}\.so[\d.]{0,8}): cannot open shared object file",
        kind="sign",
    ),
    Signature(r"- (?:ImportError|OSError): [^\n]{0,200}undefined symbol: (?P<symbol>\w{4,120})", kind="sign"),
    Signature(r"^- Compute capability: (?P<capability>\d{2,3})", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the kernels of SGLang (`sgl_kernel`) do not load{why}",
        "The package is built for one CUDA, one torch and certain GPUs. {reason}",
        "Install what the installed SGLang names, together: `pip install -U sglang` in a fresh environment brings "
        "torch and kernels that fit; for another CUDA take the wheel of that CUDA from the kernels' releases "
        "(`cu124`, `cu129`, `cu130`). {how}`ldd` on the `common_ops` file shows every library that is not found. The "
        "image `lmsysorg/sglang` has it all.",
    ),
    zh=Words(
        "SGLang 的内核包(`sgl_kernel`)无法加载{why_zh}",
        "该包针对一个 CUDA、一个 torch 和若干 GPU 构建。{reason_zh}",
        "一并安装所装 SGLang 指定的版本:在新环境中 `pip install -U sglang` 会带来匹配的 torch 与内核;其他 CUDA 请从内核"
        "的发布页取对应的 wheel(`cu124`、`cu129`、`cu130`)。{how_zh}对 `common_ops` 文件运行 `ldd` 可看到缺少的库。镜像"
        " `lmsysorg/sglang` 已包含全部。",
    ),
)

#: what the loader met -> (reason, remedy) in both languages
_LIBRARY = (
    (
        "Here it looks for `{library}`, which is not on this machine: a library of another CUDA version than the one "
        "that torch brought along, or of the system."
    ),
    ("此处它寻找本机没有的 `{library}`:属于与 torch 所带不同的 CUDA 版本,或系统库。"),
)
_SYMBOL = (
    ("Here a symbol of torch is missing: it was built for another torch than the one that is installed."),
    ("此处缺少 torch 的符号:它针对的 torch 与所装的不同。"),
)
_PLAIN = (
    (
        "Which of them does not fit stands in the lines below the message; often the wheel has no file for this GPU, "
        "or a library of CUDA or of the system is missing."
    ),
    ("是哪一项不符写在该消息下面的几行中;常见的是 wheel 没有该 GPU 的文件,或缺少 CUDA 或系统的库。"),
)
_SYSTEM = {
    "libnuma": ("`apt-get install libnuma1` brings it. ", "用 `apt-get install libnuma1` 安装。"),
    "libnvrtc": (
        "A number 12 there with a torch for CUDA 13 (or the other way round) is the usual case. ",
        "常见情况是此处为 12 而 torch 面向 CUDA 13(或相反)。",
    ),
}


def explain(hits: Hits) -> Finding | None:
    """The reason that the loader lists, where the log holds it."""
    library, symbol = hits.get("library"), hits.get("symbol")
    reason, reason_zh = _LIBRARY if library else _SYMBOL if symbol else _PLAIN
    how, how_zh = next((words for name, words in _SYSTEM.items() if (library or "").startswith(name)), ("", ""))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        why=f": `{library}` is missing" if library else "", why_zh=f":缺少 `{library}`" if library else "",
        reason=reason.format(library=library), reason_zh=reason_zh.format(library=library), how=how, how_zh=how_zh,
    )  # fmt: skip
