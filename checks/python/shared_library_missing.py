"""A compiled package needs a system library that is not installed.

## What it means
Wheels bring most of what they need, but not the libraries of the graphics system, of RDMA or of Python
itself. Slim containers lack them.
## What it does to a run
The import ends with `cannot open shared object file`.
## What to do
Install the system's package.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.opencv.org/4.x/d2/de6/tutorial_py_setup_in_ubuntu.html
https://packages.debian.org/search?searchon=contents&keywords=libGL.so.1
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT023", name="shared-library-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?<!')(?P<library>libGL\.so\.1|libgthread-2\.0\.so\.0|libglib-2\.0\.so\.0|libSM\.so\.6|libXext\.so"
        r"\.6|libgomp\.so\.1|libibverbs\.so\.1|librdmacm\.so\.1|libaio\.so\.1|libnuma\.so\.1|libsndfil"
        r"e\.so\.1|libmpi\.so\.\d{1,3}|libffi\.so\.\d|libpython3\.\d{1,2}\.so\.1\.0|libtbb\.so\.\d{1,3"
        r"}|libGLESv2\.so\.2|libpciaccess\.so\.0): cannot open shared object file"
        r"(?!: No such file or directory \(ignored\))",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the system library `{library}` is not installed",
        "A compiled package loads it at import. It belongs to the operating system, not to pip's "
        "packages; slim containers leave it out.",
        "Install it: `{command}`{hint}.",
    ),
    zh=Words(
        "系统库 `{library}` 没有安装",
        "某个编译包在导入时加载它。它属于操作系统而不是 pip 包;精简容器通常不含它。",
        "安装它:`{command}`{hint_zh}。",
    ),
)

#: whose import fails; other lines tell what a program can do without
_FAILED = re.compile(r"^\s{0,12}(?:ImportError|OSError): |error while loading shared libraries: ")

#: library -> Debian's and Ubuntu's package
PACKAGES = {
    "libGL.so.1": "libgl1", "libgthread-2.0.so.0": "libglib2.0-0", "libglib-2.0.so.0": "libglib2.0-0",
    "libSM.so.6": "libsm6", "libXext.so.6": "libxext6", "libgomp.so.1": "libgomp1", "libibverbs.so.1": "libibverbs1",
    "librdmacm.so.1": "librdmacm1", "libaio.so.1": "libaio1", "libnuma.so.1": "libnuma1",
    "libsndfile.so.1": "libsndfile1", "libGLESv2.so.2": "libgles2",
    "libpciaccess.so.0": "libpciaccess0",  # of hwloc, which MPI and UCX load: https://packages.debian.org/libpciaccess0
}  # fmt: skip
OPENCV = frozenset({"libGL.so.1", "libgthread-2.0.so.0", "libglib-2.0.so.0", "libSM.so.6", "libXext.so.6"})


def explain(hits: Hits) -> Finding | None:
    """Each library has a package of its own."""
    library = hits.get("library") or ""
    stem = library.partition(".so")[0]
    known = {"libmpi": "libopenmpi-dev", "libffi": "libffi-dev", "libtbb": "libtbb-dev"}
    package = PACKAGES.get(library) or known.get(stem) or f"{stem}-dev"
    command = f"apt-get install -y {package}"
    return found(
        PROBLEM,
        LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        library=library,
        command=command,
        commands=(command,),
        confidence=CONFIRMED if any(_FAILED.search(hit.text) for hit in hits) else LIKELY,
        hint=" (or `pip install opencv-python-headless` in place of opencv-python)" if library in OPENCV else "",
        hint_zh="(或用 `pip install opencv-python-headless` 代替 opencv-python)" if library in OPENCV else "",
    )
