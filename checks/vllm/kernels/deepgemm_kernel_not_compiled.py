"""Judges deepgemm-kernel-not-compiled (VLL101), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


WHAT = {
    "old": (
        ("the CUDA toolkit in use is older than DeepGEMM needs", "所用 CUDA 工具包比 DeepGEMM 要求的旧"),
        (
            "Its {tool} must be {least} or newer; the toolkit on PATH or in `CUDA_HOME` counts, not the CUDA of torch.",
            "其 {tool} 须为 {least} 及以上;以 PATH 或 `CUDA_HOME` 中的工具包为准,而不是 torch 的 CUDA。",
        ),
    ),
    "failed": (
        ("nvcc could not compile a kernel of DeepGEMM", "nvcc 未能编译 DeepGEMM 的内核"),
        (
            (
                "Its own message stands above: a GPU architecture that this toolkit does not know (Blackwell needs "
                "CUDA 12.8 or 12.9), a header or host compiler that does not fit, a folder without headers."
            ),
            (
                "nvcc 自己的报错在此之前:该工具包不认识的 GPU 架构(Blackwell 需要 CUDA 12.8,最好 12.9)、不相符的头"
                "文件或主机编译器、缺少头文件的目录。"
            ),
        ),
    ),
    "runtime": (
        ("DeepGEMM could not read a kernel that it had compiled", "DeepGEMM 无法读取它编译出的内核"),
        (
            (
                "It runs `cuobjdump` of the CUDA toolkit on the compiled file: the tool is missing (images that "
                "hold only the runtime of CUDA), is of an older toolkit, or the file is broken."
            ),
            (
                "它会对编译结果运行 CUDA 工具包的 `cuobjdump`:该工具缺失(只含 CUDA 运行时的镜像)、属于较旧的工具包"
                ",或文件已损坏。"
            ),
        ),
    ),
    "absent": (
        ("DeepGEMM found no `nvcc` to compile its kernels with", "DeepGEMM 找不到用来编译内核的 `nvcc`"),
        (
            (
                "It looks in `CUDA_HOME` (or beside the `nvcc` on PATH, or in /usr/local/cuda); an image that "
                "holds only the runtime of CUDA has none."
            ),
            "它在 `CUDA_HOME`(或 PATH 上的 `nvcc` 旁,或 /usr/local/cuda)中查找;只含 CUDA 运行时的镜像没有它。",
        ),
    ),
    "corrupt": (
        ("DeepGEMM's cache of compiled kernels is broken", "DeepGEMM 的内核编译缓存已损坏"),
        (
            "A compilation was cut off, or several ranks or nodes wrote into one folder on a shared disk.",
            "编译被中断,或多个 rank、节点向共享磁盘上的同一目录写入。",
        ),
    ),
}
WHAT["nowhere"] = WHAT["absent"]


def explain(hits: Hits) -> Finding:
    """Which step failed."""
    kind = next(name for name in WHAT if hits.get(name))
    what, why = WHAT[kind]
    tool, least = hits.get("old") or "", hits.get("least") or ""
    return found(
        PROBLEM,
        MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if kind == "old" else LIKELY,
        what=what[0],
        what_zh=what[1],
        why=why[0].format(tool=tool, least=least),
        why_zh=why[1].format(tool=tool, least=least),
    )
