"""A package imports a module that newer Python or setuptools no longer has.

## What it means
Python 3.12 dropped distutils, asyncore, asynchat and imp; 3.13 typing.io, lib2to3, cgi, crypt, imghdr, audioop and
other old ones; setuptools 82 dropped pkg_resources. Packages that were written before import them.
## What it does to a run
The import, or the building of a wheel, ends with ModuleNotFoundError.
## What to do
Upgrade the package that imports it, or install setuptools (for distutils) or an older setuptools (for
pkg_resources).
## How it is found
In a log, by the message that the program prints.
## References
https://docs.python.org/3/whatsnew/3.12.html
https://docs.python.org/3/whatsnew/3.13.html
https://github.com/OrangeX4/Latex-Sympy-Calculator/issues/29
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
        r"ces|typing\.(?:io|re)|lib2to3|cgi|cgitb|crypt|imghdr|sndhdr|audioop|pipes|telnetlib|uu|xdrlib)"
        r"(?:\.\w{1,40})?'",
    ),
    # inside of a build
    Signature(r"^\s{4,14}ModuleNotFoundError: No module named '(?P<module>distutils|imp)(?:\.\w{1,40})?'"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a package imports `{module}`, which is no longer there",
        "Python 3.12 dropped distutils, asyncore, asynchat and imp, 3.13 typing.io, lib2to3, cgi, crypt, imghdr, "
        "audioop and more; setuptools 82 dropped pkg_resources, and new environments have no setuptools at all. The "
        "package in the traceback was written before that.",
        "Upgrade that package first. Else `pip install setuptools` brings distutils back, `pip install "
        "'setuptools<82'` pkg_resources, `pip install audioop-lts` and `legacy-cgi` these two; for the others use "
        "Python 3.11 (3.12 for what 3.13 dropped). When it happens while building a wheel, add "
        "`--no-build-isolation`.",
    ),
    zh=Words(
        "某个包导入了已不存在的 `{module}`",
        "Python 3.12 移除了 distutils、asyncore、asynchat 和 imp,3.13 移除了 typing.io、lib2to3、cgi、crypt、imghdr"
        "、audioop 等;setuptools 82 移除了 pkg_resources,新环境甚至没有 setuptools。调用栈中的包是在此之前编写的。",
        "先升级该包。否则 `pip install setuptools` 可恢复 distutils,`pip install 'setuptools<82'` 可恢复 "
        "pkg_resources,`pip install audioop-lts`、`legacy-cgi` 可恢复这两个;其余模块请使用 Python 3.11(3.13 移除的用 "
        "3.12)。若发生在构建 wheel 时,加 `--no-build-isolation`。",
    ),
)
