"""A compiled package was built for another major version of NumPy.

## What it means
NumPy 2 changed its binary interface. Packages built for NumPy 1 do not run with NumPy 2; those built for
NumPy 2 run with both.
## What it does to a run
An import fails, or torch cannot hand arrays over (`Numpy is not available`).
## What to do
Install a NumPy of the other major version, or newer builds of the packages.
## How it is found
In a log, by the message that the program prints.
## References
https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
https://github.com/pytorch/pytorch/issues/132179
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="PYT020", name="numpy-abi", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: numpy\.(?:dtype|ufunc|ndarray) size changed, may indicate binary incompatibility"),
    Signature(r"RuntimeError: Numpy is not available"),
    Signature(r"ImportError: numpy\.core\.multiarray failed to import"),
    Signature(r"A module that was compiled using NumPy 1\.x cannot be run in", kind="sign"),
    Signature(r"AttributeError: _ARRAY_API not found"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a compiled package does not fit the installed NumPy (NumPy 1 against 2)",
        "One of them was built for the other major version. It comes from an upgrade of numpy alone, "
        "often by a package that does not care; old torch (before 2.3), vLLM before 0.8.3 and others "
        "need numpy 1. torch says `Numpy is not available` also where numpy is absent or damaged.",
        "`pip install 'numpy<2'` for older packages, or upgrade the package in the traceback to a build "
        "for NumPy 2; then run `pip check`. Do not mix conda's and pip's numpy.",
    ),
    zh=Words(
        "某个编译包与已安装的 NumPy 不匹配(NumPy 1 与 2)",
        "两者之一针对另一个主版本构建。通常因为单独升级了 numpy;旧版 torch(2.3 之前)、0.8.3 之前的 vLLM "
        "等需要 numpy 1。numpy 未安装或已损坏时,torch 也会说 `Numpy is not available`。",
        "旧包请执行 `pip install 'numpy<2'`,或把调用栈中的包升级到支持 NumPy 2 的构建;然后运行 `pip "
        "check`。不要混用 conda 与 pip 的 numpy。",
    ),
)

LOG_COMMANDS = ("pip install 'numpy<2'",)

#: positions: a proof by itself; what NumPy prints of such a module, after which the import may well go on
SIZE, PRINTED = 0, (3, 4)


def explain(hits: Hits) -> Finding:
    """What NumPy prints when an old module asks for its interface is no proof that the import failed."""
    seen = {hit.signature for hit in hits}
    failed = SIZE in seen or (not seen.isdisjoint(PRINTED) and not seen.issubset(PRINTED))
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=LOG_COMMANDS,
        confidence=CONFIRMED if failed else LIKELY,
    )  # fmt: skip
