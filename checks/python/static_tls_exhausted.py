"""A compiled library is loaded too late for the room that the loader keeps for it.

## What it means
Some libraries (libgomp of scikit-learn or torch, jemalloc, tcmalloc) keep thread-local data in a block that the
loader sizes when the process starts. Libraries that are loaded later share what is left of it; on ARM machines with
an older glibc that is little.
## What it does to a run
`import` of a package fails with ImportError, depending on what was imported before.
## What to do
Load that library first: by LD_PRELOAD, or by importing its package before the others.
## How it is found
In a log: by the words of the dynamic loader, which name the library.
## References
https://sourceware.org/bugzilla/show_bug.cgi?id=25051
https://www.gnu.org/software/libc/manual/html_node/Dynamic-Linking-Tunables.html
https://github.com/wangshuai09/Notebook/blob/1dde65b641956f59535106ab12f2e63d8ccfde94/QA/Error.md
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT042", name="static-tls-exhausted", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"(?P<path>/[^\s:'\n]{1,300}\.so[\w.]{0,20}): cannot allocate memory in static TLS block"),)

LOG_MESSAGE = Message(
    en=Words(
        "`{library}` was loaded too late: the loader has no room left for its thread-local data",
        "The room is set aside when the process starts, and libraries that came before have used it up. It depends on "
        "the order of imports, and is met most on ARM (aarch64) machines with an older glibc.",
        "Load it first: `export LD_PRELOAD={path}` before the command; or import its package at the very top of the "
        "script, before torch and transformers. With glibc 2.33 or newer `export "
        "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384` makes more room.",
    ),
    zh=Words(
        "`{library}` 加载太晚:加载器已没有空间存放其线程局部数据",
        "该空间在进程启动时预留,已被先加载的库用完。它取决于导入顺序,多见于 glibc 较旧的 ARM(aarch64)机器。",
        "让它最先加载:在命令之前 `export LD_PRELOAD={path}`;或在脚本最开头、torch 与 transformers 之前导入它所属的包。"
        "glibc 2.33 及以上可用 `export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384` 增大空间。",
    ),
)


def explain(hits: Hits) -> Finding:
    """The library by its name and by the path to load it from."""
    path = _plain(hits.get("path") or "")
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=CONFIRMED,
        library=path.rpartition("/")[2], path=path, commands=(f"export LD_PRELOAD={path}",),
    )  # fmt: skip


def _plain(path: str) -> str:
    """Without `folder/..` on the way."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and len(parts) > 1:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
