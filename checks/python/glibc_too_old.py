"""A compiled package needs a newer C library than the system has.

## What it means
Wheels are linked against the glibc (or libstdc++) of the machine that built them and run on that version
and newer. Which one a system has follows from its release: Ubuntu 20.04 has glibc 2.31, 22.04 has 2.35,
RHEL 8 has 2.28.
## What it does to a run
The import of the package ends with an ImportError about `GLIBC_2.xx` or `GLIBCXX_3.4.xx`; where the package
hides it, with a missing module such as `vllm._C`.
## What to do
Use a newer system or a container of one, a wheel tagged manylinux for the system at hand, or build the
package on this machine. A missing `GLIBCXX` comes with conda's `libstdcxx-ng`.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/15592
https://peps.python.org/pep-0600/
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT018", name="glibc-too-old", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:(?:\w{1,40}\.){0,4}(?:ImportError|OSError): |[^\n]{0,120}: )?/[^\s:]{1,200}/lib(?:c|m)\.so\.6:"
        r" version `(?P<need>GLIBC_2\.\d{1,3}(?:\.\d{1,2})?)' not found \(required by (?P<library>[^)\n]{1,300})\)",
    ),
    Signature(
        r"^(?:(?:\w{1,40}\.){0,4}(?:ImportError|OSError): |[^\n]{0,120}: )?/[^\s:]{1,200}:"
        r" version `(?P<need>(?:GLIBCXX|CXXABI)_[\d.]{1,12})' not found"
        r" \(required by (?P<library>[^)\n]{1,300})\)",
    ),
    Signature(
        r"with (?:ImportError|OSError)\([^\n]{1,300} version `(?P<need>GLIBC(?:XX)?_[\d.]{1,12})' not found"
        r" \(required by (?P<library>[^)\n]{1,300})\)",
        kind="warning",
        contributes_to=("VLL", "PYT"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{name} needs {need}; the glibc of this system is older",
        "The compiled part of {package} was built on a newer operating system and does not load here. "
        "What follows (a missing module, an engine that cannot start) is the same failure.",
        "Run it on a newer distribution, most easily in a container (Ubuntu 22.04 has glibc 2.35), "
        "install a wheel that is tagged `manylinux` for an older one, or build {package} from source on "
        "this machine. `ldd --version` shows what is here.",
    ),
    zh=Words(
        "{name} 需要 {need};本系统的 glibc 更旧",
        "{package} 的编译部分是在更新的操作系统上构建的,无法在此加载。随后的错误(缺少模块、引擎无法启动)都源于此。",
        "在更新的发行版上运行,最简单的是用容器(Ubuntu 22.04 的 glibc 为 2.35);安装标记为较旧 `manylinux` "
        "的 wheel;或在本机从源代码编译 {package}。`ldd --version` 可查看当前版本。",
    ),
)

LOG_MESSAGE_CXX = Message(
    en=Words(
        "{name} needs {need}; the libstdc++ that was loaded is older",
        "An older libstdc++.so.6, of the system or in LD_LIBRARY_PATH, was found before one that has the "
        "symbol version.",
        "Install a newer one into the environment (`conda install -c conda-forge libstdcxx-ng`) and put "
        "its folder first in LD_LIBRARY_PATH (`$CONDA_PREFIX/lib`), or use a newer distribution or "
        "container.",
    ),
    zh=Words(
        "{name} 需要 {need};加载到的 libstdc++ 更旧",
        "系统中或 LD_LIBRARY_PATH 里较旧的 libstdc++.so.6 排在带有该符号版本的库之前。",
        "在环境中安装更新的版本(`conda install -c conda-forge libstdcxx-ng`),并把其目录放在 "
        "LD_LIBRARY_PATH 最前(`$CONDA_PREFIX/lib`);或使用更新的发行版或容器。",
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Name the file that needs it and the package that it belongs to."""
    library = hits.get("library") or "?"
    folder, base = ["", *library.split("/")][-2:]
    name = (f"{folder}/" if folder and folder != "site-packages" else "") + base.partition(".")[0]
    after = library.rpartition("site-packages/")[2] if "site-packages/" in library else ""
    package = after.partition("/")[0].partition(".")[0]
    return found(
        PROBLEM,
        LOG_MESSAGE_CXX if (hits.first.groups.get("need") or "").startswith(("GLIBCXX", "CXX")) else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=("ldd --version",),
        severity=ERROR if hits.of(0) or hits.of(1) else WARNING,
        name=f"`{name}`",
        need=hits.get("need"),
        package=f"`{package}`" if package else "the package",
    )
