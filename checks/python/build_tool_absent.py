"""A package is compiled, and a compiler, header or library that this takes is absent or does not fit.

## What it means
There is no ready-made wheel for this Python, platform and torch, so the package is compiled. That takes a C++ compiler,
for CUDA the toolkit with its development files, and what else the package links.
## What it does to a run
The installation fails, or the run that compiles an operation at its first use.
## What to do
Install what is named, or a release that has a ready-made wheel.
## How it is found
In a log: by the words of compiler, linker, CMake or setup.py.
## References
https://github.com/dhcode-cpp/X-R1/issues/68
https://github.com/NVIDIA/TransformerEngine/issues/918
https://github.com/NVIDIA/TransformerEngine/blob/main/docs/installation.rst
https://github.com/google/sentencepiece/issues/1121
https://github.com/deepspeedai/DeepSpeed/issues/3145
https://cmake.org/cmake/help/latest/release/4.0.html
https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
"""

from __future__ import annotations

import re

from doctor.checks.python._build_parts import told
from doctor.core.finding import CONFIRMED, LIKELY, Finding, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT037", name="build-tool-absent", severity=ERROR, since="0.1")

_MORE = ("TOR017", "VLL")  # the compiler that run-time compilation needs; kernels that vLLM compiles
SIGNATURES = (
    Signature(
        r"(?:fatal error|error): '?(?P<header>[\w./+\-]{1,100}\.(?:h|hpp|cuh|inc))'?(?:: No such file or directory"
        r"| file not found)",
        symptom_of=_MORE,
    ),
    Signature(r"fatal error C1083: [^\n']{1,80}'(?P<header>[\w./\\+\-]{1,100}\.(?:h|hpp|cuh))'"),
    Signature(r"(?:ld|collect2)[^\n]{0,60}: cannot find -l(?P<library>[\w+\-.]{1,40})", symptom_of=_MORE),
    Signature(r"fatal error LNK1181: [^\n']{1,80}'(?P<library>[\w.\-]{1,60}\.lib)'"),
    Signature(
        r"(?:error: command|unable to execute) '(?P<tool>[^'\n]{1,120})'(?: failed)?: No such file or directory",
    ),
    Signature(
        r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<tool>gcc|g\+\+|cc|c\+\+|cmake|ninja|cargo"
        r"|rustc|make|nvcc|clang)'",
        symptom_of=("VLL058",),
    ),
    Signature(
        r"FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<tool>/[\w./\-]{1,160}/bin/nvcc)'",
        symptom_of=("DSP001",),
    ),
    Signature(
        r"Command '\['which', '(?P<tool>c\+\+|g\+\+|gcc|cc|clang\+\+|x86_64-linux-gnu-g\+\+)'\]' returned non-zero"
    ),
    Signature(r"(?:^|: )(?P<tool>cmake|ninja|cargo|gcc|g\+\+|make|(?<=make: )nvcc): (?:[Cc]ommand )?not found"),
    # one's own shell or script; "/bin/sh: 1: nvcc: not found" comes from DeepSpeed, which asks and goes on
    Signature(
        r"^(?:-?bash|[^\s:]{1,200}\.(?:sh|bash|slurm|sbatch)): (?:line \d{1,6}: )?(?P<tool>nvcc): command not found$"
    ),
    Signature(r"(?P<msvc>Microsoft Visual C\+\+ 14\.\d) or greater is required"),
    Signature(r"(?P<msvc>'where', 'cl')\]' returned non-zero exit status"),
    Signature(
        r"No CMAKE_(?P<language>C|CXX|CUDA)_COMPILER could be found|CMAKE_(?P<language2>C|CXX)_COMPILER not set,"
    ),
    Signature(r"(?P<rust>can't find Rust compiler|Cargo, the Rust package manager, is not installed)"),
    Signature(r"Compatibility with CMake < (?P<floor>3\.\d{1,2}) has been removed from CMake"),
    Signature(r"unsupported GNU version! gcc versions later than (?P<newest>\d{1,2})(?:\.\d{1,2})? are not supported"),
    Signature(r"(?P<visual>unsupported Microsoft Visual Studio version!)"),
    Signature(
        r"(?:C\+\+(?P<standard>\d\d) or later compatible compiler is required|You need C\+\+(?P<standard2>\d\d) to"
        r" compile PyTorch|unrecognized command.line option [\"'‘]-std=(?:c|gnu)\+\+(?P<standard3>\d\d))"
    ),
    Signature(r"Could not find (?P<library>[a-z]\w{1,30})_LIBRARY using the following names"),
    Signature(r"AssertionError: Unable to pre-compile (?P<op>\w{1,40})"),
)

_NOT_HERE = re.compile(
    r"Python\.h$|^(?:std(?:def|lib|io|int|bool|arg)|limits|string|features|omp)\.h$|^bits/"
)  # TOR017 knows these
#: DeepSpeed tries to link the last two, to see whether they are there, and goes on without
_STARTED = 5  # place of Python's words for a program that cannot be started
_NO_LIBRARY = frozenset({"cuda", "c", "m", "pthread", "aio", "cufile"})


def explain(hits: Hits) -> Finding | None:
    """What the first hit lacks; None for what another problem tells."""
    groups = {name: value for name, value in hits.first.groups.items() if value}
    name, value = next(iter(groups.items()), ("", ""))
    if (name == "header" and _NOT_HERE.search(value)) or (name == "library" and value in _NO_LIBRARY):
        return None
    if name == "library" and value == "aio.lib":  # DeepSpeed probes for libaio on Windows, too
        name, value = "op", "async_io"
    started = any("subprocess" in frame for frame in hits.first.frames)
    if name == "tool" and hits.first.frames and hits.first.signature == _STARTED and not started:
        return None  # a file or folder of that name
    message, values = told(name.rstrip("23"), value)
    # a script of one's own may want it for something else than a package
    confidence = LIKELY if hits.first.text.endswith("nvcc: command not found") else CONFIRMED
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=confidence, **values
    )  # fmt: skip
