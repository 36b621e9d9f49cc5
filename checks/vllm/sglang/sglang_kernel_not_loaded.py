"""Judges sglang-kernel-not-loaded (VLL086), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


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
        library=library, reason=reason.format(library=library), reason_zh=reason_zh.format(library=library),
        how=how, how_zh=how_zh,
    )  # fmt: skip
