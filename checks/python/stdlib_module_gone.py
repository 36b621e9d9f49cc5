"""A package imports a module that newer Python or setuptools no longer has.

## What it means
Python 3.12 dropped distutils, asyncore, asynchat and imp; setuptools 82 dropped pkg_resources. Packages
that were written before import them.
## What it does to a run
The import, or the building of a wheel, ends with ModuleNotFoundError.
## What to do
Upgrade the package that imports it, or install setuptools (for distutils) or an older setuptools (for
pkg_resources).
## How it is found
In a log, by the message that the program prints.
## References
https://docs.python.org/3/whatsnew/3.12.html
https://setuptools.pypa.io/en/latest/history.html
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="PYT021", name="stdlib-module-gone", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^ModuleNotFoundError: No module named '(?P<module>distutils|asyncore|asynchat|imp|pkg_resour"
        r"ces)(?:\.\w{1,40})?'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a package imports `{module}`, which is no longer there",
        "Python 3.12 dropped distutils, asyncore, asynchat and imp; setuptools 82 dropped pkg_resources, "
        "and new environments have no setuptools at all. The package in the traceback was written before "
        "that.",
        "Upgrade that package first. Else `pip install setuptools` brings distutils back, `pip install "
        "'setuptools<82'` pkg_resources; for the others use Python 3.11. When it happens while building "
        "a wheel, add `--no-build-isolation`.",
    ),
    zh=Words(
        "某个包导入了已不存在的 `{module}`",
        "Python 3.12 移除了 distutils、asyncore、asynchat 和 imp;setuptools 82 移除了 pkg_resources,新环"
        "境甚至没有 setuptools。调用栈中的包是在此之前编写的。",
        "先升级该包。否则 `pip install setuptools` 可恢复 distutils,`pip install 'setuptools<82'` 可恢复 "
        "pkg_resources;其余模块请使用 Python 3.11。若发生在构建 wheel 时,加 `--no-build-isolation`。",
    ),
)
